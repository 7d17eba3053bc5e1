// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// copier copies parts of one segment to another.
type copier struct {
	to, from *Segment
	reader   *codeReader // of the destination
	encoder  *encoder    // of the source

	texts, frames, labelled, sets copies
}

func newCopier(to, from *Segment) *copier {
	return &copier{
		to: to, from: from, reader: to.codeReader(), encoder: from.encoder(&profile.Profile{}),
		texts: make(copies, len(from.texts.list)), frames: make(copies, len(from.code.frames.list)),
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

func (c *copier) mapping(n uint32) uint32 { return c.reader.mapping(c.encoder.mapping(n)) }

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
		return c.to.code.frames.add(frame{c.stack(f.parent), c.reader.location(c.encoder.location(f.location))})
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
	own := *w
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
