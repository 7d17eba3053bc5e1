// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"slices"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// copier copies parts of one segment to another. Each list is indexed by the number in the
// source. It has one more than the number in the destination, and 0 until it is copied.
type copier struct {
	to, from                                      *Segment
	texts, mappings, functions, locations, frames []uint32
	labelled, sets                                []uint32
}

func newCopier(to, from *Segment) *copier {
	return &copier{
		to: to, from: from, texts: make([]uint32, len(from.texts.list)),
		mappings: make([]uint32, len(from.code.mappings.list)), functions: make([]uint32, len(from.code.functions.list)),
		locations: make([]uint32, len(from.code.locations.list)), frames: make([]uint32, len(from.code.frames.list)),
		labelled: make([]uint32, len(from.groups.labellings.list)), sets: make([]uint32, len(from.groups.sets.ends)),
	}
}

// once returns the number in the destination, which add returns for the first time.
func once(numbers []uint32, n uint32, add func() uint32) uint32 {
	if numbers[n] == 0 {
		numbers[n] = add() + 1
	}
	return numbers[n] - 1
}

func (c *copier) text(n uint32) uint32 {
	return once(c.texts, n, func() uint32 { return c.to.texts.add(c.from.texts.list[n]) })
}

func (c *copier) mapping(n uint32) uint32 {
	return once(c.mappings, n, func() uint32 {
		m := c.from.code.mappings.list[n]
		m.file, m.build = c.text(m.file), c.text(m.build)
		return c.to.code.mappings.add(m)
	})
}

func (c *copier) function(n uint32) uint32 {
	return once(c.functions, n, func() uint32 {
		f := c.from.code.functions.list[n]
		f.name, f.system, f.file = c.text(f.name), c.text(f.system), c.text(f.file)
		return c.to.code.functions.add(f)
	})
}

func (c *copier) location(n uint32) uint32 {
	return once(c.locations, n, func() uint32 {
		if n == 0 {
			return 0
		}
		l := c.from.code.locations.list[n]
		lines := make([]line, l.lines)
		for i, at := range c.from.code.locations.of(l) {
			at.function = c.function(at.function)
			lines[i] = at
		}
		l.mapping = c.mapping(l.mapping)
		return c.to.code.locations.add(l, lines)
	})
}

// stack copies a stack. Parents have lower numbers, and so the recursion ends.
func (c *copier) stack(n uint32) uint32 {
	if n == 0 {
		return 0
	}
	return once(c.frames, n, func() uint32 {
		f := c.from.code.frames.list[n]
		return c.to.code.frames.add(frame{c.stack(f.parent), c.location(f.location)})
	})
}

// group copies the ids and labels of a group.
func (c *copier) group(n uint32) uint32 {
	g := group{c.from.groups.ids[n], c.from.groups.labelling(n)}
	as := c.from.groups.form(n)
	g.labelled = once(c.labelled, g.labelled, func() uint32 {
		set := c.from.groups.set(n)
		return c.to.groups.labellings.add(labelling{form: as, set: once(c.sets, set, func() uint32 {
			var labels []label
			for _, l := range c.from.groups.sets.of(set) {
				l.key, l.value, l.unit = c.text(l.key), c.text(l.value), c.text(l.unit)
				labels = append(labels, l)
			}
			return c.to.groups.sets.add(labels)
		})})
	})
	if as == odd {
		of := c.from.groups.odd.list[g.span]
		of.profile, of.span, of.trace = c.text(of.profile), c.text(of.span), c.text(of.trace)
		g.span = ident.Key(c.to.groups.odd.add(of))
	}
	return c.to.groups.add(g)
}

// window appends the rows of a window with the given places, in their order.
func (c *copier) window(w *window, rows []int) {
	text := func(t string) string { return c.to.texts.list[c.to.texts.add(t)] }
	own := *w
	own.service, own.version, own.standard = text(w.service), text(w.version), text(w.standard)
	own.types = slices.Clone(w.types)
	for i := range own.types {
		own.types[i] = ValueType{text(w.types[i].Name), text(w.types[i].Unit)}
	}
	own.mappings, own.times, own.samples, own.cpu, own.labelled = nil, times{}, 0, 0, 0
	for _, m := range w.mappings {
		own.mappings = append(own.mappings, c.mapping(m))
	}
	t := newTuples(len(w.types))
	order := make([]rowOrder, len(rows))
	for i, at := range rows {
		values := w.tuples[w.values.At(at)*len(w.types):][:len(w.types)]
		order[i] = rowOrder{c.group(uint32(w.groups.At(at))), c.stack(uint32(w.stacks.At(at))), t.add(values), at}
	}
	slices.SortFunc(order, compareRows)
	c.to.finish(&own, order, t.list)
	if w.times.unit != 0 {
		all := make(map[int][]int64)
		for at, moments := range w.allTimes() {
			if _, ok := slices.BinarySearch(rows, at); ok {
				all[at] = slices.Clone(moments)
			}
		}
		moments := make([][]int64, len(order))
		for i := range order {
			moments[i] = all[order[i].at]
		}
		own.pack(moments)
		own.size += own.times.bytes()
	}
	c.to.addWindow(&own)
}
