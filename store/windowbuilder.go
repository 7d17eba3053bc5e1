// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// windowBuilder makes a window of a profile. What windows share comes from the
// tables, an id that is already indexed from the index.
type windowBuilder struct {
	tables *tables
	known  map[string]*idEntry
	window *window

	mappings  map[*profile.Mapping]*Mapping
	functions map[*profile.Function]*Function
	locations map[*profile.Location]*Location
	groups    map[groupKey]int
	ids       map[string]string
	traceIDs  map[string]string

	// Scratch space of one sample and of one location.
	stack  []*Location
	labels []label
	lines  []Line
}

type groupKey struct {
	profileID, spanID, traceID string
	labels                     *labelSet
}

func newWindowBuilder(t *tables, known map[string]*idEntry) *windowBuilder {
	return &windowBuilder{
		tables:    t,
		known:     known,
		mappings:  make(map[*profile.Mapping]*Mapping),
		functions: make(map[*profile.Function]*Function),
		locations: make(map[*profile.Location]*Location),
		groups:    make(map[groupKey]int),
		ids:       make(map[string]string),
		traceIDs:  make(map[string]string),
	}
}

// build returns the window of a profile that CheckValid found valid.
func (b *windowBuilder) build(p *exporter.Profile, parsed *profile.Profile) *window {
	w := &window{
		kind:        p.Kind(),
		service:     b.tables.texts.retain(serviceName(p.Resource())),
		version:     b.tables.texts.retain(serviceVersion(p.Resource())),
		start:       p.Start().Round(0),
		end:         p.Start().Round(0).Add(max(p.Duration(), 0)),
		types:       make([]valueType, len(parsed.SampleType)),
		defaultType: b.tables.texts.retain(parsed.DefaultSampleType),
		periodType:  b.valueType(parsed.PeriodType),
		period:      parsed.Period,
		mappings:    make([]*Mapping, len(parsed.Mapping)),
		stacks:      make([]*Stack, len(parsed.Sample)),
		values:      make([]int64, len(parsed.Sample)*len(parsed.SampleType)),
	}
	b.window = w
	for i, t := range parsed.SampleType {
		w.types[i] = b.valueType(t)
	}
	w.setColumns()
	for i, m := range parsed.Mapping {
		w.mappings[i] = b.mapping(m)
		b.tables.mappings.retain(w.mappings[i])
	}

	// The samples of a group end up side by side: first count those of
	// each group, then put every sample into its place.
	groupOf := make([]int, len(parsed.Sample))
	for i, s := range parsed.Sample {
		groupOf[i] = b.group(s)
		w.groups[groupOf[i]].last++
	}
	next := make([]int, len(w.groups))
	place := 0
	for i := range w.groups {
		g := &w.groups[i]
		next[i] = place
		g.window, g.first, g.last = w, place, place+g.last
		place = g.last
	}
	for i, s := range parsed.Sample {
		place := next[groupOf[i]]
		next[groupOf[i]]++
		w.stacks[place] = b.stackOf(s)
		copy(w.values[place*len(w.types):], s.Value)
	}

	for i := range w.groups {
		w.samples += w.groups[i].count()
	}
	w.bytes = w.size()
	for _, id := range b.traceIDs {
		w.bytes += allocSize(int64(len(id)))
	}
	return w
}

// group returns the index of the sample's group, which may be new.
func (b *windowBuilder) group(s *profile.Sample) int {
	b.labels = appendLabels(b.labels[:0], s)
	labels := b.tables.labelSet(b.labels)
	key := groupKey{
		profileID: firstLabel(s, profileIDLabel),
		spanID:    firstLabel(s, spanIDLabel),
		traceID:   firstLabel(s, traceIDLabel),
		labels:    labels,
	}
	if i, ok := b.groups[key]; ok {
		return i
	}
	b.tables.labels.retain(labels)
	i := len(b.window.groups)
	b.groups[key] = i
	b.window.groups = append(b.window.groups, group{
		profileID: b.id(key.profileID),
		spanID:    b.id(key.spanID),
		traceID:   own(b.traceIDs, key.traceID),
		labels:    labels,
	})
	return i
}

// id returns the index's copy of an id, or the one that the index is to keep.
func (b *windowBuilder) id(id string) string {
	if e, ok := b.known[id]; ok {
		return e.id
	}
	return own(b.ids, id)
}

// own returns a copy of s that does not pin the profile it came from, the same
// one whenever it is asked for.
func own(copies map[string]string, s string) string {
	if s == "" {
		return ""
	}
	c, ok := copies[s]
	if !ok {
		c = strings.Clone(s)
		copies[c] = c
	}
	return c
}

// stackOf returns the sample's stack with a reference for the window.
func (b *windowBuilder) stackOf(s *profile.Sample) *Stack {
	b.stack = b.stack[:0]
	for _, l := range s.Location {
		b.stack = append(b.stack, b.location(l))
	}
	own := b.tables.stack(b.stack)
	b.tables.stacks.retain(own)
	return own
}

func (b *windowBuilder) location(l *profile.Location) *Location {
	if own, ok := b.locations[l]; ok {
		return own
	}
	b.lines = b.lines[:0]
	for _, line := range l.Line {
		b.lines = append(b.lines, Line{Function: b.function(line.Function), Line: line.Line, column: line.Column})
	}
	own := b.tables.location(l, b.mapping(l.Mapping), b.lines)
	b.locations[l] = own
	return own
}

func (b *windowBuilder) function(f *profile.Function) *Function {
	own, ok := b.functions[f]
	if ok {
		return own
	}
	if f == nil {
		// CheckValid does not see locations that only a sample knows.
		own = b.tables.function(&profile.Function{})
	} else {
		own = b.tables.function(f)
	}
	b.functions[f] = own
	return own
}

func (b *windowBuilder) mapping(m *profile.Mapping) *Mapping {
	if m == nil {
		return nil
	}
	own, ok := b.mappings[m]
	if !ok {
		own = b.tables.mapping(m)
		b.mappings[m] = own
	}
	return own
}

func (b *windowBuilder) valueType(t *profile.ValueType) valueType {
	if t == nil {
		return valueType{}
	}
	return valueType{name: b.tables.texts.retain(t.Type), unit: b.tables.texts.retain(t.Unit)}
}
