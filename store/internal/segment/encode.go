// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
)

// profile returns a window in the pprof format, as it was exported.
func (s *Segment) profile(w *window) *profile.Profile {
	valueType := func(t ValueType) *profile.ValueType { return &profile.ValueType{Type: t.Name, Unit: t.Unit} }
	p := &profile.Profile{
		PeriodType: valueType(w.periodType), Period: w.period, DefaultSampleType: w.standard,
		TimeNanos: w.start, DurationNanos: w.end - w.start,
	}
	for _, t := range w.types {
		p.SampleType = append(p.SampleType, valueType(t))
	}
	if w.looks != nil {
		p.Comments = []string{w.looks.Comment()}
	}
	e := encoder{s, p, make(map[uint32]*profile.Mapping), make(map[uint32]*profile.Function), make(map[uint32]*profile.Location)}
	for _, m := range w.mappings {
		e.mapping(m)
	}
	for row := range w.len() {
		sm := &profile.Sample{Value: w.tuples[w.values.At(row)*len(w.types):][:len(w.types)]}
		for at := uint32(w.stacks.At(row)); at != 0; at = s.code.frames.list[at].parent {
			sm.Location = append(sm.Location, e.location(s.code.frames.list[at].location))
		}
		e.labels(sm, uint32(w.groups.At(row)))
		p.Sample = append(p.Sample, sm)
	}
	return p
}

// encoder finds the code of a segment in a profile.
type encoder struct {
	*Segment
	p         *profile.Profile
	mappings  map[uint32]*profile.Mapping
	functions map[uint32]*profile.Function
	locations map[uint32]*profile.Location
}

func (e *encoder) mapping(n uint32) *profile.Mapping {
	m := e.mappings[n]
	if m == nil && n != 0 {
		of := e.code.mappings.list[n]
		m = &profile.Mapping{
			ID: uint64(len(e.p.Mapping) + 1), Start: of.start, Limit: of.limit, Offset: of.offset,
			File: e.texts.list[of.file], BuildID: e.texts.list[of.build],
			HasFunctions: of.flags&1 != 0, HasFilenames: of.flags&2 != 0, HasLineNumbers: of.flags&4 != 0, HasInlineFrames: of.flags&8 != 0,
		}
		e.mappings[n] = m
		e.p.Mapping = append(e.p.Mapping, m)
	}
	return m
}

func (e *encoder) location(n uint32) *profile.Location {
	l := e.locations[n]
	if l == nil {
		of := e.code.locations.list[n]
		l = &profile.Location{ID: uint64(len(e.p.Location) + 1), Address: of.address, Mapping: e.mapping(of.mapping), IsFolded: of.folded}
		for _, at := range e.code.locations.of(of) {
			l.Line = append(l.Line, profile.Line{Function: e.function(at.function), Line: at.line, Column: at.column})
		}
		e.locations[n] = l
		e.p.Location = append(e.p.Location, l)
	}
	return l
}

func (e *encoder) function(n uint32) *profile.Function {
	f := e.functions[n]
	if f == nil {
		of := e.code.functions.list[n]
		f = &profile.Function{
			ID: uint64(len(e.p.Function) + 1), Name: e.texts.list[of.name], SystemName: e.texts.list[of.system],
			Filename: e.texts.list[of.file], StartLine: of.start,
		}
		e.functions[n] = f
		e.p.Function = append(e.p.Function, f)
	}
	return f
}

// labels sets the labels of a group.
func (e *encoder) labels(sm *profile.Sample, g uint32) {
	sm.Label = make(map[string][]string)
	for _, key := range []string{labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID, labelkey.EndedSpanID} {
		if value := e.label(g, key); value != "" {
			sm.Label[key] = []string{value}
		}
	}
	for _, l := range e.groups.sets.of(e.groups.set(g)) {
		key := e.texts.list[l.key]
		if !l.numeric {
			if key != labelkey.EndedSpanID || len(sm.Label[key]) == 0 {
				sm.Label[key] = append(sm.Label[key], e.texts.list[l.value])
			}
			continue
		}
		if sm.NumLabel == nil {
			sm.NumLabel, sm.NumUnit = make(map[string][]int64), make(map[string][]string)
		}
		sm.NumLabel[key] = append(sm.NumLabel[key], l.number)
		sm.NumUnit[key] = append(sm.NumUnit[key], e.texts.list[l.unit])
	}
}
