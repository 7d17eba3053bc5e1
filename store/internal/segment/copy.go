// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"slices"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// copier copies parts of one segment to another.
type copier struct {
	to, from                                      *Segment
	texts, mappings, functions, locations, frames copies
	labelled, sets                                copies
}

func newCopier(to, from *Segment) *copier {
	return &copier{
		to: to, from: from, texts: make(copies, len(from.texts.list)),
		mappings: make(copies, len(from.code.mappings.list)), functions: make(copies, len(from.code.functions.list)),
		locations: make(copies, len(from.code.locations.list)), frames: make(copies, len(from.code.frames.list)),
		labelled: make(copies, len(from.groups.labellings.list)), sets: make(copies, len(from.groups.sets.ends)),
	}
}

// copies has 1 more than the number in the destination by the number in the source.
type copies []uint32

// once returns the number in the destination, which add returns for the first time.
func (c copies) once(n uint32, add func() uint32) uint32 {
	if c[n] == 0 {
		c[n] = add() + 1
	}
	return c[n] - 1
}

func (c *copier) text(n uint32) uint32 {
	return c.texts.once(n, func() uint32 { return c.to.texts.add(c.from.texts.list[n]) })
}

func (c *copier) mapping(n uint32) uint32 {
	return c.mappings.once(n, func() uint32 {
		m := c.from.code.mappings.list[n]
		m.file, m.build = c.text(m.file), c.text(m.build)
		return c.to.code.mappings.add(m)
	})
}

func (c *copier) function(n uint32) uint32 {
	return c.functions.once(n, func() uint32 {
		f := c.from.code.functions.list[n]
		f.name, f.system, f.file = c.text(f.name), c.text(f.system), c.text(f.file)
		return c.to.code.functions.add(f)
	})
}

func (c *copier) location(n uint32) uint32 {
	return c.locations.once(n, func() uint32 {
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
	if at := c.frames[n]; at != 0 { // the usual case, without a closure
		return at - 1
	}
	return c.frames.once(n, func() uint32 {
		f := c.from.code.frames.list[n]
		return c.to.code.frames.add(frame{c.stack(f.parent), c.location(f.location)})
	})
}

// group copies the ids and labels of a group.
func (c *copier) group(n uint32) uint32 {
	g, as := group{groupID: c.from.groups.ids[n]}, c.from.groups.form(n)
	if as == odd {
		of := c.from.groups.odd.list[g.span]
		of.profile, of.span, of.trace = c.text(of.profile), c.text(of.span), c.text(of.trace)
		g.span = ident.Key(c.to.groups.odd.add(of))
	}
	g.labelled = c.labelling(c.from.groups.labelling(n), as)
	return c.to.groups.add(g)
}

// labels returns a group with the labels of a labelling and no ids.
func (c *copier) labels(n uint32) uint32 {
	return c.to.groups.add(group{labelled: c.labelling(n, none)})
}

func (c *copier) labelling(n uint32, as form) uint32 {
	return c.labelled.once(n, func() uint32 {
		set := c.from.groups.labellings.list[n].set
		return c.to.groups.labellings.add(labelling{form: as, set: c.sets.once(set, func() uint32 {
			var labels []label
			for _, l := range c.from.groups.sets.of(set) {
				l.key, l.value, l.unit = c.text(l.key), c.text(l.value), c.text(l.unit)
				labels = append(labels, l)
			}
			return c.to.groups.sets.add(labels)
		})})
	})
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
	t := &tuples{n: len(w.types)}
	order := make([]rowOrder, len(rows))
	for i, at := range rows {
		values := w.tuples[w.values.At(at)*len(w.types):][:len(w.types)]
		order[i] = rowOrder{c.group(uint32(w.groups.At(at))), c.stack(uint32(w.stacks.At(at))), t.add(values), at}
	}
	slices.SortFunc(order, compareRows)
	c.to.finish(&own, order, t)
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
