// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"encoding/binary"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/memory"
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
