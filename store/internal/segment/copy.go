// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

// copier copies parts of one segment to another. Each list is indexed by the number in the
// source. It has one more than the number in the destination, and 0 until it is copied.
type copier struct {
	to, from                                      *Segment
	texts, mappings, functions, locations, frames []uint32
}

func newCopier(to, from *Segment) *copier {
	return &copier{
		to: to, from: from, texts: make([]uint32, len(from.texts.list)),
		mappings: make([]uint32, len(from.code.mappings.list)), functions: make([]uint32, len(from.code.functions.list)),
		locations: make([]uint32, len(from.code.locations.list)), frames: make([]uint32, len(from.code.frames.list)),
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
