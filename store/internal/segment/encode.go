// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/labelkey"
)

func (t ValueType) pprof() *profile.ValueType { return &profile.ValueType{Type: t.Name, Unit: t.Unit} }

// encoder finds the code of a segment in a profile. The lists have what is encoded by its
// number in the segment.
type encoder struct {
	*Segment
	p         *profile.Profile
	mappings  []*profile.Mapping
	functions []*profile.Function
	locations []*profile.Location
	labelled  map[uint32]*profile.Sample
}

func (s *Segment) encoder(p *profile.Profile) *encoder {
	return &encoder{
		Segment: s, p: p, mappings: make([]*profile.Mapping, len(s.code.mappings.list)),
		functions: make([]*profile.Function, len(s.code.functions.list)), locations: make([]*profile.Location, len(s.code.locations.list)),
		labelled: make(map[uint32]*profile.Sample),
	}
}

// stack returns the locations of a stack, the leaf first.
func (e *encoder) stack(leaf uint32) (stack []*profile.Location) {
	for n := range all(&e.code.frames, leaf) {
		stack = append(stack, e.location(n))
	}
	return stack
}

// Stacks returns a function that returns the locations of the stacks of an answer.
func (a *Answer) Stacks() func(stack uint32) []*profile.Location {
	return a.code.encoder(&profile.Profile{}).stack
}

// ErrTooMany is the cause of the error about a profile with more samples than the limit.
var ErrTooMany = errors.New("more samples than the query allows")

// Profile returns the samples that a query selects, with all types and labels, or without
// ids. It fails beyond limit samples, 0 for no limit.
func (v *View) Profile(ctx context.Context, q *Query, withoutIDs bool, limit int) (*profile.Profile, error) {
	a := &Answer{}
	if err := v.setType(a, q); err != nil {
		return nil, err
	}
	windows, err := v.find(ctx, q)
	if err != nil {
		return nil, err
	}
	p, err := encode(ctx, windows, a.Types, withoutIDs, limit)
	if err == nil {
		p.DefaultSampleType = cmp.Or(q.Type, p.DefaultSampleType)
	}
	return p, err
}

// encode returns the samples of windows in the pprof format: see View.Profile.
func encode(ctx context.Context, windows []found, types []ValueType, withoutIDs bool, limit int) (*profile.Profile, error) {
	p := &profile.Profile{PeriodType: &profile.ValueType{}}
	for _, t := range types {
		p.SampleType = append(p.SampleType, t.pprof())
	}
	to, current := newSegment(), newest(windows)
	places, sums, width := sumPlaces{others: make(map[uint64]int)}, []int64{}, len(types)
	var mappings []uint32
	var c *copier
	var labelled copies // the groups of sets without ids
	for i := range windows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := &windows[i]
		if c == nil || c.from != f.of {
			c = newCopier(to, f.of)
			labelled = make(copies, len(f.of.sets.list))
		}
		p.DurationNanos += f.end - f.start // as when pprof merges
		if i == 0 || f.start < p.TimeNanos {
			p.TimeNanos = f.start
		}
		if f.period > p.Period || p.PeriodType.Type == "" {
			p.PeriodType, p.Period = f.periodType.pprof(), f.period
		}
		p.DefaultSampleType = cmp.Or(p.DefaultSampleType, f.standard)
		for _, m := range f.mappings {
			mappings = append(mappings, c.mapping(m))
		}
		columns := make([]int, len(types))
		for k, t := range types {
			columns[k] = slices.Index(f.types, t)
			if t.Momentary() && current[f.name()] != f {
				columns[k] = -1
			}
		}
		last, g := -1, uint32(0)
		for row := range f.rows() {
			if from := f.groups.At(row); from != last {
				last = from
				if withoutIDs {
					set := f.of.groups.list[from].set
					g = labelled.once(set, func() uint32 { return c.labels(set) })
				} else {
					g = c.group(uint32(from))
				}
			}
			at := places.of(g, c.stack(uint32(f.stacks.At(row))))
			if at*width == len(sums) {
				sums = append(sums, make([]int64, width)...)
			}
			values, tuple := sums[at*width:][:width], f.tuples[f.values.At(row)*len(f.types):]
			for k, column := range columns {
				if column >= 0 {
					values[k] += tuple[column]
				}
			}
			if limit > 0 && len(places.keys) > limit {
				return nil, fmt.Errorf("%s profile: %w: %d", f.kind, ErrTooMany, limit)
			}
		}
	}
	if l := looksOf(windows); l != nil {
		p.Comments = []string{l.Comment()}
	}
	e := to.encoder(p)
	for _, m := range mappings {
		e.mapping(m)
	}
	for i, of := range places.keys {
		sm := &profile.Sample{Value: sums[i*width:][:width:width]}
		// Older windows leave sums of 0 if values are momentary.
		if slices.ContainsFunc(sm.Value, func(v int64) bool { return v != 0 }) {
			sm.Location = e.stack(uint32(of))
			e.labels(sm, uint32(of>>32))
			p.Sample = append(p.Sample, sm)
		}
	}
	return p, nil
}

// sumPlaces finds the sum of a group and a stack. The first groups have tables by stack:
// without ids, most rows are of few groups.
type sumPlaces struct {
	keys   []uint64 // of the sums: group and stack
	tables [64][]int32
	others map[uint64]int
}

// of returns the place of a sum, len(p.keys)-1 for a new one.
func (p *sumPlaces) of(group, stack uint32) int {
	key := uint64(group)<<32 | uint64(stack)
	if int(group) >= len(p.tables) {
		at, ok := p.others[key]
		if !ok {
			at = len(p.keys)
			p.others[key], p.keys = at, append(p.keys, key)
		}
		return at
	}
	table := p.tables[group]
	if missing := int(stack) + 1 - len(table); missing > 0 {
		table = append(table, make([]int32, missing)...)
		p.tables[group] = table
	}
	if table[stack] == 0 {
		p.keys = append(p.keys, key)
		table[stack] = int32(len(p.keys))
	}
	return int(table[stack]) - 1
}

func (e *encoder) mapping(n uint32) *profile.Mapping {
	m := e.mappings[n]
	if m == nil && n != 0 {
		of := e.code.mappings.list[n]
		m = &profile.Mapping{
			ID: uint64(len(e.p.Mapping) + 1), Start: of.start, Limit: of.limit, Offset: of.offset,
			File: e.texts.list[of.file], BuildID: e.texts.list[of.build],
			HasFunctions: of.functions, HasFilenames: of.files, HasLineNumbers: of.lines, HasInlineFrames: of.inlined,
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
		for at := range all(&e.code.lines, of.lines) {
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

// labels sets the labels of a group. Its samples share their maps.
func (e *encoder) labels(sm *profile.Sample, g uint32) {
	if of := e.labelled[g]; of != nil {
		sm.Label, sm.NumLabel, sm.NumUnit = of.Label, of.NumLabel, of.NumUnit
		return
	}
	e.labelled[g] = sm
	sm.Label = make(map[string][]string)
	for _, key := range []string{labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID} {
		if value := e.label(g, key); value != "" && !e.groups.list[g].odd {
			sm.Label[key] = []string{value}
		}
	}
	for l := range all(&e.sets, e.groups.list[g].set) {
		key := e.texts.list[l.key]
		if !l.numeric {
			sm.Label[key] = append(sm.Label[key], e.texts.list[l.value])
			continue
		}
		if sm.NumLabel == nil {
			sm.NumLabel, sm.NumUnit = make(map[string][]int64), make(map[string][]string)
		}
		number, _ := strconv.ParseInt(e.texts.list[l.value], 10, 64) // groupOf wrote it
		sm.NumLabel[key] = append(sm.NumLabel[key], number)
		sm.NumUnit[key] = append(sm.NumUnit[key], e.texts.list[l.unit])
	}
	// A key with empty units only is one without units.
	maps.DeleteFunc(sm.NumUnit, func(_ string, units []string) bool { return strings.Join(units, "") == "" })
}

// ValueType is what a column of values measures.
type ValueType struct{ Name, Unit string }

// Momentary reports whether values describe the end of their window. They must not be added.
func (t ValueType) Momentary() bool {
	return strings.HasPrefix(t.Name, "inuse_") || t.Name == "goroutine"
}

// scaled returns a time in nanoseconds, a size in bytes, and any other type unchanged. The
// values are multiplied by the factor.
func (t ValueType) scaled() (ValueType, int64) {
	unit, factor := columns.Unit(t.Unit)
	return ValueType{t.Name, unit}, factor
}
