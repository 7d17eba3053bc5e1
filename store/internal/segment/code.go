// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"encoding/binary"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/memory"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// code is the stacks of a segment. A stack is the number of its leaf frame: frames are a
// tree of parents and locations. The number 0 means none in each list.
type code struct {
	mappings  table[mapping]
	functions table[function]
	locations locations
	frames    table[frame]
}

type mapping struct {
	start, limit, offset uint64
	file, build          uint32 // texts
	flags                uint8  // what symbols it has
}

type function struct {
	name, system, file uint32 // texts
	start              int64
}

type line struct {
	function     uint32
	line, column int64
}

type location struct {
	address        uint64
	mapping, first uint32 // first is the first of its lines
	lines          uint16
	folded         bool
}

// frame is a call. Its parent has a lower number.
type frame struct{ parent, location uint32 }

func newCode() code {
	var c code
	c.mappings.add(mapping{})
	c.functions.add(function{})
	c.frames.add(frame{})
	c.locations.list = []location{{}}
	return c
}

func (c *code) seal() {
	c.mappings.seal()
	c.functions.seal()
	c.frames.seal()
	c.locations.seal()
}

func (c *code) bytes() int64 {
	return c.mappings.bytes() + c.functions.bytes() + c.locations.bytes() + c.frames.bytes()
}

// locations numbers addresses with their lines.
type locations struct {
	list  []location
	lines []line
	keys  keys
}

// add returns the number of a location with its lines. Its first is ignored.
func (l *locations) add(of location, lines []line) uint32 {
	l.keys.key = binary.AppendUvarint(binary.AppendUvarint(l.keys.key[:0], of.address), uint64(of.mapping)<<1|bit(of.folded))
	lines = lines[:min(len(lines), 1<<16-1)]
	for _, at := range lines {
		l.keys.key = binary.AppendVarint(binary.AppendVarint(binary.AppendUvarint(l.keys.key, uint64(at.function)), at.line), at.column)
	}
	n, isNew := l.keys.number(len(l.list))
	if isNew {
		of.first, of.lines = uint32(len(l.lines)), uint16(len(lines))
		l.list, l.lines = append(l.list, of), append(l.lines, lines...)
	}
	return n
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (l *locations) of(at location) []line { return l.lines[at.first:][:at.lines] }

func (l *locations) seal() {
	l.list, l.lines = slices.Clip(slices.Clone(l.list)), slices.Clip(slices.Clone(l.lines))
	l.keys = keys{}
}

func (l *locations) bytes() int64 {
	return memory.Slice(l.list) + memory.Slice(l.lines) + l.keys.bytes()
}

// codeReader adds the code of one profile to a segment.
type codeReader struct {
	*Segment
	mappings  map[*profile.Mapping]uint32
	functions map[*profile.Function]uint32
	locations map[*profile.Location]uint32
	lines     []line // of the location that is read
}

func (s *Segment) codeReader() *codeReader {
	return &codeReader{
		Segment: s, mappings: make(map[*profile.Mapping]uint32),
		functions: make(map[*profile.Function]uint32), locations: make(map[*profile.Location]uint32),
	}
}

// stack returns the leaf of a sample's stack, 0 for none.
func (r *codeReader) stack(s *profile.Sample) (leaf uint32) {
	for _, l := range slices.Backward(s.Location) {
		leaf = r.code.frames.add(frame{leaf, r.location(l)})
	}
	return leaf
}

func (r *codeReader) location(l *profile.Location) uint32 {
	n, ok := r.locations[l]
	if !ok {
		r.lines = r.lines[:0]
		for _, at := range l.Line {
			r.lines = append(r.lines, line{r.function(at.Function), at.Line, at.Column})
		}
		n = r.code.locations.add(location{address: l.Address, mapping: r.mapping(l.Mapping), folded: l.IsFolded}, r.lines)
		r.locations[l] = n
	}
	return n
}

func (r *codeReader) function(f *profile.Function) uint32 {
	n, ok := r.functions[f]
	if !ok && f != nil { // CheckValid accepts a line without a function
		n = r.code.functions.add(function{r.texts.add(f.Name), r.texts.add(f.SystemName), r.texts.add(f.Filename), f.StartLine})
		r.functions[f] = n
	}
	return n
}

func (r *codeReader) mapping(m *profile.Mapping) uint32 {
	n, ok := r.mappings[m]
	if !ok && m != nil {
		flags := bit(m.HasFunctions) | bit(m.HasFilenames)<<1 | bit(m.HasLineNumbers)<<2 | bit(m.HasInlineFrames)<<3
		n = r.code.mappings.add(mapping{m.Start, m.Limit, m.Offset, r.texts.add(m.File), r.texts.add(m.BuildID), uint8(flags)})
		r.mappings[m] = n
	}
	return n
}

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

// estimate returns an upper bound of the memory of a profile, except indexes.
func estimate(p *profile.Profile) int64 {
	n := 64*(len(p.Sample)+len(p.Location)+len(p.Function)) + 96*len(p.Mapping)
	for _, m := range p.Mapping {
		n += len(m.File) + len(m.BuildID)
	}
	for _, l := range p.Location {
		n += 32 * len(l.Line)
	}
	for _, f := range p.Function {
		n += len(f.Name) + len(f.SystemName) + len(f.Filename)
	}
	for _, s := range p.Sample {
		n += 8 * (len(s.Location) + len(s.Value))
		for key, values := range s.Label {
			n += len(key)
			for _, value := range values {
				n += len(value) + 48
			}
		}
		for key, values := range s.NumLabel {
			n += len(key) + 48*len(values)
			for _, unit := range s.NumUnit[key] {
				n += len(unit)
			}
		}
	}
	return int64(n)
}
