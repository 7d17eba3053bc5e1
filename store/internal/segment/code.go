// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// code is the stacks of a segment. A stack is the number of its leaf frame. The number 0
// means none in each list.
type code struct {
	mappings  table[mapping]
	functions table[function]
	lines     table[link[line]] // the innermost first
	locations table[location]
	frames    table[link[uint32]] // locations, the leaf first
}

type mapping struct {
	start, limit, offset             uint64
	file, build                      uint32 // texts
	functions, files, lines, inlined bool   // the symbols that it has
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
	mapping, lines uint32
	folded         bool
}

func newCode() code {
	return code{newTable[mapping](), newTable[function](), newTable[link[line]](), newTable[location](), newTable[link[uint32]]()}
}

func (c *code) seal() {
	c.mappings.seal()
	c.functions.seal()
	c.lines.seal()
	c.locations.seal()
	c.frames.seal()
}

func (c *code) bytes() int64 {
	return c.mappings.bytes() + c.functions.bytes() + c.lines.bytes() + c.locations.bytes() + c.frames.bytes()
}

// codeReader adds the code of one profile to a segment.
type codeReader struct {
	*Segment
	mappings  map[*profile.Mapping]uint32
	functions map[*profile.Function]uint32
	locations map[*profile.Location]uint32
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
		leaf = r.code.frames.add(link[uint32]{leaf, r.location(l)})
	}
	return leaf
}

func (r *codeReader) location(l *profile.Location) uint32 {
	n, ok := r.locations[l]
	if !ok {
		lines := uint32(0)
		for _, at := range slices.Backward(l.Line) {
			lines = r.code.lines.add(link[line]{lines, line{r.function(at.Function), at.Line, at.Column}})
		}
		n = r.code.locations.add(location{l.Address, r.mapping(l.Mapping), lines, l.IsFolded})
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
		n = r.code.mappings.add(mapping{
			m.Start, m.Limit, m.Offset, r.texts.add(m.File), r.texts.add(m.BuildID),
			m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames,
		})
		r.mappings[m] = n
	}
	return n
}

// group is the ids and labels that rows have in common. Most spans have one group.
type group struct {
	// span is the profile_id and the span_id, and trace the trace_id, 0 if absent.
	span  ident.Key
	trace trace.TraceID
	// set has the labels, sorted. It is without these ids unless odd is set: the ids differ, or
	// one is absent or no id, or the span had ended. Then span and trace are 0.
	set uint32
	odd bool
}

type label struct {
	key, value, unit uint32 // texts
	numeric          bool   // value is decimal
}

// setOf returns the number of a set of labels, which it sorts.
func (s *Segment) setOf(labels []label) (n uint32) {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.key, b.key) }) // values of one key keep their order
	for _, of := range slices.Backward(labels) {
		n = s.sets.add(link[label]{n, of})
	}
	return n
}

// value returns the first value of a label in a set, "" for none. Numbers are decimal.
func (s *Segment) value(set uint32, key string) string {
	for of := range all(&s.sets, set) {
		if s.texts.list[of.key] == key {
			return s.texts.list[of.value]
		}
	}
	return ""
}

// groupOf returns the group of a sample. scratch is used again.
func (s *Segment) groupOf(sm *profile.Sample, scratch *[]label) uint32 {
	ids := [3]string{first(sm, labelkey.ProfileID), first(sm, labelkey.SpanID), first(sm, labelkey.TraceID)}
	ended := ident.ParseKey(first(sm, labelkey.EndedSpanID))
	// Nothing counts for a span after its end.
	disowned := ended != 0 && (ident.ParseKey(ids[0]) == ended || ident.ParseKey(ids[1]) == ended)
	of := binaryIDs(ids, ended)
	set := (*scratch)[:0]
	for key, values := range sm.Label {
		switch key {
		case labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID:
			if !of.odd || disowned && key != labelkey.TraceID || first(sm, key) == "" {
				continue
			}
			values = values[:1]
		case labelkey.SpanName:
			if disowned {
				continue
			}
		}
		for _, value := range values {
			set = append(set, label{key: s.texts.add(key), value: s.texts.add(value)})
		}
	}
	for key, numbers := range sm.NumLabel {
		for i, number := range numbers {
			l := label{key: s.texts.add(key), value: s.texts.add(strconv.FormatInt(number, 10)), numeric: true}
			if units := sm.NumUnit[key]; i < len(units) {
				l.unit = s.texts.add(units[i])
			}
			set = append(set, l)
		}
	}
	*scratch = set
	of.set = s.setOf(set)
	return s.groups.add(of)
}

// binaryIDs returns a group with some profile_id, span_id and trace_id.
func binaryIDs(ids [3]string, ended ident.Key) group {
	span := ident.ParseKey(ids[0])
	of, err := trace.TraceIDFromHex(ids[2])
	if ended != 0 || err != nil && ids[2] != "" || ids[0] != ids[1] || span == 0 && ids[0] != "" {
		return group{odd: true}
	}
	return group{span: span, trace: of}
}

// first returns the first value of a label, "" for none.
func first(s *profile.Sample, key string) string {
	if values := s.Label[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// idsIn returns the spans that a group's profile_id and span_id name, 0 for none. They
// are equal for most.
func (s *Segment) idsIn(group uint32) (profile, span ident.Key) {
	if of := &s.groups.list[group]; !of.odd {
		return of.span, of.span
	}
	return ident.ParseKey(s.label(group, labelkey.ProfileID)), ident.ParseKey(s.label(group, labelkey.SpanID))
}

// isLabelled reports whether a group has a profile_id, a span_id or a span_name.
func (s *Segment) isLabelled(group uint32) bool {
	return s.groups.list[group].span != 0 ||
		s.label(group, labelkey.SpanName) != "" || s.label(group, labelkey.ProfileID) != "" || s.label(group, labelkey.SpanID) != ""
}

// ended returns the span that had ended when the rows of a group were taken, 0 for none.
func (s *Segment) ended(group uint32) ident.Key {
	if !s.groups.list[group].odd {
		return 0
	}
	return ident.ParseKey(s.label(group, labelkey.EndedSpanID))
}

// label returns a label of a group as text, "" for none.
func (s *Segment) label(group uint32, key string) string {
	of := &s.groups.list[group]
	switch {
	case of.odd:
	case key == labelkey.ProfileID, key == labelkey.SpanID:
		return of.span.String()
	case key == labelkey.TraceID && of.trace.IsValid():
		return of.trace.String()
	}
	return s.value(of.set, key)
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
