// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import "slices"

// copier copies stacks and labels of one segment to another.
type copier struct {
	to, from *Segment

	texts, mappings, functions, lines, locations, frames, sets copies
}

func newCopier(to, from *Segment) *copier {
	list := func(n int) copies {
		c := make(copies, n)
		c[0] = 1 // none stays none
		return c
	}
	of := &from.code
	return &copier{
		to: to, from: from, texts: list(len(from.texts.list)), mappings: list(len(of.mappings.list)), functions: list(len(of.functions.list)),
		lines: list(len(of.lines.list)), locations: list(len(of.locations.list)), frames: list(len(of.frames.list)), sets: make(copies, len(from.sets.list)),
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

// line copies a list of lines. The rest of a list has a lower number, and so the recursion ends.
func (c *copier) line(n uint32) uint32 {
	return c.lines.once(n, func() uint32 {
		l := c.from.code.lines.list[n]
		l.rest, l.value.function = c.line(l.rest), c.function(l.value.function)
		return c.to.code.lines.add(l)
	})
}

func (c *copier) location(n uint32) uint32 {
	return c.locations.once(n, func() uint32 {
		l := c.from.code.locations.list[n]
		l.mapping, l.lines = c.mapping(l.mapping), c.line(l.lines)
		return c.to.code.locations.add(l)
	})
}

// stack copies a stack.
func (c *copier) stack(n uint32) uint32 {
	if c.frames[n] == 0 { // most are known: no closure
		f := c.from.code.frames.list[n]
		c.frames[n] = c.to.code.frames.add(link[uint32]{c.stack(f.rest), c.location(f.value)}) + 1
	}
	return c.frames[n] - 1
}

// group copies the ids and labels of a group.
func (c *copier) group(n uint32) uint32 {
	of := c.from.groups.list[n]
	of.set = c.set(of.set, false)
	return c.to.groups.add(of)
}

// labels returns a group with the labels of a set and no ids.
func (c *copier) labels(n uint32) uint32 { return c.to.groups.add(group{set: c.set(n, true)}) }

func (c *copier) set(n uint32, withoutIDs bool) uint32 {
	return c.sets.once(n, func() uint32 {
		var labels []label
		for l := range all(&c.from.sets, n) {
			if !withoutIDs || !isID(c.from.texts.list[l.key]) {
				l.key, l.value, l.unit = c.text(l.key), c.text(l.value), c.text(l.unit)
				labels = append(labels, l)
			}
		}
		return c.to.setOf(labels)
	})
}

// window appends the rows of a window with the given places, in their order.
func (c *copier) window(w *window, rows []int) {
	own := *w
	own.mappings, own.samples, own.cpu, own.labelled = nil, 0, 0, 0
	for _, m := range w.mappings {
		own.mappings = append(own.mappings, c.mapping(m))
	}
	t := newTuples()
	order := make([]rowOrder, len(rows))
	for i, at := range rows {
		values := w.tuples[w.values.At(at)*len(w.types):][:len(w.types)]
		order[i] = rowOrder{c.group(uint32(w.groups.At(at))), c.stack(uint32(w.stacks.At(at))), t.add(values), at}
	}
	slices.SortFunc(order, compareRows)
	c.to.finish(&own, order, t)
	c.to.addWindow(&own)
}
