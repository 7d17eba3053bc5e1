// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// windowBuilder makes a window of a profile. What windows share comes from the
// tables.
type windowBuilder struct {
	tables *tables
	window *window

	mappings   map[*profile.Mapping]*Mapping
	functions  map[*profile.Function]*Function
	locations  map[*profile.Location]*Location
	groups     map[groupKey]uint32
	built      []builtGroup
	labellings map[labelling]uint32
	sets       map[*labelSet]struct{}
	rows       map[string]uint32

	// Scratch space of one sample and of one location.
	stack  []*Location
	labels []label
	lines  []Line
	key    []byte
}

// builtGroup is a group before its samples have their places.
type builtGroup struct {
	groupRow
	labelling, samples uint32
}

// groupKey is what the samples of a group have in common.
type groupKey struct {
	idTexts
	labels *labelSet
}

func newWindowBuilder(t *tables) *windowBuilder {
	return &windowBuilder{
		tables:     t,
		mappings:   make(map[*profile.Mapping]*Mapping),
		functions:  make(map[*profile.Function]*Function),
		locations:  make(map[*profile.Location]*Location),
		groups:     make(map[groupKey]uint32),
		labellings: make(map[labelling]uint32),
		sets:       make(map[*labelSet]struct{}),
		rows:       make(map[string]uint32),
	}
}

// build returns the window of a profile that CheckValid found valid. It stops
// once the tables take more than limit bytes, and returns false: what it took
// from the tables is in the window all the same.
func (b *windowBuilder) build(p *exporter.Profile, parsed *profile.Profile, limit int64) (_ *window, ok bool) {
	defer b.releaseSets()
	w := &window{
		kind:        p.Kind(),
		service:     b.tables.texts.Retain(ident.Service(p.Resource())),
		version:     b.tables.texts.Retain(ident.Version(p.Resource())),
		start:       p.Start().Round(0),
		end:         p.Start().Round(0).Add(max(p.Duration(), 0)),
		types:       make([]valueType, len(parsed.SampleType)),
		defaultType: b.tables.texts.Retain(parsed.DefaultSampleType),
		periodType:  b.valueType(parsed.PeriodType),
		period:      parsed.Period,
		mappings:    make([]*Mapping, len(parsed.Mapping)),
		frames:      make([]*frame, len(parsed.Sample)),
	}
	b.window = w
	for i, t := range parsed.SampleType {
		w.types[i] = b.valueType(t)
	}
	w.setColumns()
	for i, m := range parsed.Mapping {
		w.mappings[i] = b.mapping(m)
		b.tables.mappings.Retain(w.mappings[i])
	}

	// The samples of a group end up side by side, and the groups in the
	// order of their spans.
	groupOf := make([]uint32, len(parsed.Sample))
	for i, s := range parsed.Sample {
		groupOf[i] = b.group(s)
	}
	order := make([]uint32, len(b.built))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(x, y uint32) int { return cmp.Compare(b.built[x].span, b.built[y].span) })
	labelled, surplus := make([]uint32, len(order)), make([]uint32, len(order))
	next := make([]uint32, len(order))
	w.groups = make([]groupRow, len(order))
	place := uint32(0)
	for i, from := range order {
		built := &b.built[from]
		w.groups[i] = built.groupRow
		// Every group has a sample.
		labelled[i], surplus[i] = built.labelling, place-uint32(i)
		next[from] = place
		place += built.samples
	}
	w.labelled, w.surplus = memory.NewColumn(labelled), memory.NewColumn(surplus)
	rows := make([]uint32, len(parsed.Sample))
	for i, s := range parsed.Sample {
		place := next[groupOf[i]]
		next[groupOf[i]]++
		rows[place] = b.row(s.Value)
		w.frames[place] = b.stackOf(s)
		if b.tables.bytes() > limit {
			return w, false
		}
	}
	w.rows = memory.NewColumn(rows)
	// Copies: they grew to more than they need.
	w.values, w.labellings = slices.Clone(w.values), slices.Clone(w.labellings)
	w.sums = w.sumLabellings()
	w.finish()
	return w, true
}

// group returns the place of the sample's group, which may be new, and counts
// the sample there.
func (b *windowBuilder) group(s *profile.Sample) uint32 {
	b.labels = appendLabels(b.labels[:0], s)
	key := groupKey{idTexts: idTexts{
		profileID: firstLabel(s, profileIDLabel),
		spanID:    firstLabel(s, spanIDLabel),
		traceID:   firstLabel(s, traceIDLabel),
	}, labels: b.labelSet()}
	i, ok := b.groups[key]
	if !ok {
		i = uint32(len(b.built))
		b.groups[key] = i
		b.built = append(b.built, b.newGroup(key))
	}
	b.built[i].samples++
	return i
}

func (b *windowBuilder) releaseSets() {
	for set := range b.sets {
		b.tables.labels.Release(set)
	}
}

// labelSet returns the one copy of the labels at hand.
func (b *windowBuilder) labelSet() *labelSet {
	own := b.tables.labelSet(b.labels)
	if _, ok := b.sets[own]; !ok {
		// For as long as the builder has it; labellings take their own.
		b.tables.labels.Retain(own)
		b.sets[own] = struct{}{}
	}
	return own
}

func (b *windowBuilder) newGroup(key groupKey) builtGroup {
	row := groupRow{span: ident.ParseKey(cmp.Or(key.spanID, key.profileID))}
	l := labelling{set: key.labels}
	trace, err := trace.TraceIDFromHex(key.traceID)
	switch {
	case err != nil && key.traceID != "",
		row.span == 0 && (key.profileID != "" || key.spanID != ""),
		key.profileID != key.spanID && key.profileID != "" && key.spanID != "":
		row.span = 0
		l.form = textIDs
		l.texts = &idTexts{
			profileID: strings.Clone(key.profileID),
			spanID:    strings.Clone(key.spanID),
			traceID:   strings.Clone(key.traceID),
		}
	default:
		row.trace = trace
		switch {
		case row.span == 0:
			l.form = noIDs
		case key.profileID == "":
			l.form = spanIDOnly
		case key.spanID == "":
			l.form = profileIDOnly
		default:
			l.form = bothIDs
		}
	}
	return builtGroup{groupRow: row, labelling: b.labelling(l)}
}

// labelling returns the place of l in the window. Texts are not shared.
func (b *windowBuilder) labelling(l labelling) uint32 {
	i, ok := b.labellings[l]
	if !ok {
		i = uint32(len(b.window.labellings))
		b.labellings[l] = i
		b.window.labellings = append(b.window.labellings, l)
		b.tables.labels.Retain(l.set)
	}
	return i
}

// row returns the place of a sample's values in the window.
func (b *windowBuilder) row(values []int64) uint32 {
	b.key = b.key[:0]
	for _, v := range values {
		b.key = binary.LittleEndian.AppendUint64(b.key, uint64(v))
	}
	i, ok := b.rows[string(b.key)]
	if !ok {
		i = uint32(len(b.rows))
		b.rows[string(b.key)] = i
		b.window.values = append(b.window.values, values...)
	}
	return i
}

// stackOf returns the leaf of the sample's stack with a reference for the window.
func (b *windowBuilder) stackOf(s *profile.Sample) *frame {
	b.stack = b.stack[:0]
	for _, l := range s.Location {
		b.stack = append(b.stack, b.location(l))
	}
	leaf := b.tables.stack(b.stack)
	b.tables.retainStack(leaf)
	return leaf
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
	return valueType{name: b.tables.texts.Retain(t.Type), unit: b.tables.texts.Retain(t.Unit)}
}
