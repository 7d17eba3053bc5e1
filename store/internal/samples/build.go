// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// builder makes a window of a profile.
type builder struct {
	table  *Table
	window Window

	groups     map[groupKey]uint32
	built      []builtGroup
	labellings map[labelling]uint32
	sets       map[*LabelSet]struct{}
	rows       map[string]uint32

	// Scratch space of one sample.
	labels []Label
	key    []byte
}

// builtGroup is a group before its samples have their places.
type builtGroup struct {
	groupRow
	ended              ident.Key
	labelling, samples uint32
}

// groupKey is what the samples of a group have in common.
type groupKey struct {
	IDs
	ended  ident.Key
	labels *LabelSet
}

// Build returns the window of a profile that CheckValid found valid, with the
// references of Retain, and the number that each sample of the profile has there:
// the samples of a group are side by side.
func (t *Table) Build(p *exporter.Profile, parsed *profile.Profile) (w Window, places []uint32) {
	b := &builder{
		table:      t,
		groups:     make(map[groupKey]uint32),
		labellings: make(map[labelling]uint32),
		sets:       make(map[*LabelSet]struct{}),
		rows:       make(map[string]uint32),
		window: Window{
			Kind:        p.Kind(),
			Service:     t.texts.Retain(ident.Service(p.Resource())),
			Version:     t.texts.Retain(ident.Version(p.Resource())),
			Start:       p.Start().Round(0),
			End:         p.Start().Round(0).Add(max(p.Duration(), 0)),
			Types:       make([]ValueType, len(parsed.SampleType)),
			DefaultType: t.texts.Retain(parsed.DefaultSampleType),
			PeriodType:  t.valueType(parsed.PeriodType),
			Period:      parsed.Period,
		},
	}
	for i, of := range parsed.SampleType {
		b.window.Types[i] = t.valueType(of)
	}
	b.window.setColumns()
	if p.Kind() == exporter.KindWall {
		b.window.Looks = looks.Parse(parsed.Comments)
	}

	places = make([]uint32, len(parsed.Sample))
	for i, s := range parsed.Sample {
		places[i] = b.group(s)
	}
	next := b.order()
	rows := make([]uint32, len(parsed.Sample))
	for i, s := range parsed.Sample {
		group := places[i]
		places[i] = next[group]
		next[group]++
		rows[places[i]] = b.row(s.Value)
	}
	b.window.rows = memory.NewColumn(rows)
	// Copies: they grew to more than they need.
	b.window.values, b.window.labellings = slices.Clone(b.window.values), slices.Clone(b.window.labellings)
	b.window.ended = slices.Clone(b.window.ended)
	if of := p.SampleTimes(); of != nil {
		times := make([][]int64, len(of))
		for i := range of {
			times[places[i]] = of[i]
		}
		b.window.packTimes(times)
	}
	b.window.sums = b.window.sumLabellings()
	b.window.finish()
	for set := range b.sets {
		t.sets.Release(set)
	}
	return b.window, places
}

func (t *Table) valueType(v *profile.ValueType) ValueType {
	if v == nil {
		return ValueType{}
	}
	return ValueType{Name: t.texts.Retain(v.Type), Unit: t.texts.Retain(v.Unit)}
}

// group returns the place of the sample's group, which may be new, and counts
// the sample there.
func (b *builder) group(s *profile.Sample) uint32 {
	key := groupKey{
		IDs: IDs{
			Profile: firstLabel(s, labelkey.ProfileID),
			Span:    firstLabel(s, labelkey.SpanID),
			Trace:   firstLabel(s, labelkey.TraceID),
		},
		ended: endedSpan(s),
	}
	b.labels = appendLabels(b.labels[:0], s, key.ended != 0)
	if key.ended != 0 {
		b.disown(&key)
	}
	key.labels = b.labelSet()
	i, ok := b.groups[key]
	if !ok {
		i = uint32(len(b.built))
		b.groups[key] = i
		b.built = append(b.built, b.newGroup(key))
	}
	b.built[i].samples++
	return i
}

// labelSet returns the one copy of the labels at hand.
func (b *builder) labelSet() *LabelSet {
	own := b.table.sets.Intern(LabelSet{Labels: b.labels})
	if _, ok := b.sets[own]; !ok {
		// For as long as the builder has it; labellings take their own.
		b.table.sets.Retain(own)
		b.sets[own] = struct{}{}
	}
	return own
}

func (b *builder) newGroup(key groupKey) builtGroup {
	row := groupRow{span: ident.ParseKey(cmp.Or(key.Span, key.Profile))}
	l := labelling{set: key.labels}
	trace, err := trace.TraceIDFromHex(key.Trace)
	switch {
	case err != nil && key.Trace != "",
		row.span == 0 && (key.Profile != "" || key.Span != ""),
		key.Profile != key.Span && key.Profile != "" && key.Span != "":
		row.span = 0
		l.form = textIDs
		l.texts = &IDs{
			Profile: strings.Clone(key.Profile),
			Span:    strings.Clone(key.Span),
			Trace:   strings.Clone(key.Trace),
		}
	default:
		row.trace = trace
		switch {
		case row.span == 0:
			l.form = noIDs
		case key.Profile == "":
			l.form = spanIDOnly
		case key.Span == "":
			l.form = profileIDOnly
		default:
			l.form = bothIDs
		}
	}
	return builtGroup{groupRow: row, ended: key.ended, labelling: b.labelling(l)}
}

// labelling returns the place of l in the window. Texts are not shared.
func (b *builder) labelling(l labelling) uint32 {
	i, ok := b.labellings[l]
	if !ok {
		i = uint32(len(b.window.labellings))
		b.labellings[l] = i
		b.window.labellings = append(b.window.labellings, l)
		b.table.sets.Retain(l.set)
	}
	return i
}

// order puts the groups in the order of their spans. It returns, for each group as
// built, the place of its first sample.
func (b *builder) order() (first []uint32) {
	order := make([]uint32, len(b.built))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(x, y uint32) int { return cmp.Compare(b.built[x].span, b.built[y].span) })
	labelled, surplus := make([]uint32, len(order)), make([]uint32, len(order))
	first = make([]uint32, len(order))
	b.window.groups = make([]groupRow, len(order))
	place := uint32(0)
	for i, from := range order {
		built := &b.built[from]
		b.window.groups[i] = built.groupRow
		// Every group has a sample.
		labelled[i], surplus[i] = built.labelling, place-uint32(i)
		if built.ended != 0 {
			b.window.ended = append(b.window.ended, endedGroup{span: built.ended, group: uint32(i)})
		}
		first[from] = place
		place += built.samples
	}
	b.window.labelled, b.window.surplus = memory.NewColumn(labelled), memory.NewColumn(surplus)
	return first
}

// row returns the place of a sample's values in the window.
func (b *builder) row(values []int64) uint32 {
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

func (w *Window) sumLabellings() []int64 {
	n := len(w.Types)
	sums := make([]int64, n*len(w.labellings))
	for i := range w.groups {
		of := sums[w.labelled.At(i)*n:][:n]
		first, last := (Group{w, i}).Bounds()
		for s := first; s < last; s++ {
			for column := range of {
				of[column] += w.Value(s, column)
			}
		}
	}
	return sums
}
