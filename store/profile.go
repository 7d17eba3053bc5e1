// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/profilebuilder"
	"github.com/spanprof/spanprof/store/internal/frames"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// ErrTooManySamples is returned by Profile of a [View] where there are more samples
// than MaxSamples of the query.
var ErrTooManySamples = errors.New("more samples than the query allows")

func (v *view) Profile(q Query) (*profile.Profile, error) {
	f, err := v.find(q)
	if err != nil {
		return nil, err
	}
	b := newProfileBuilder(header(&f, &q))
	b.code = &v.code
	b.withoutIDs = q.WithoutIDs
	for _, w := range f.windows {
		for _, m := range w.mappings {
			b.mapping(m)
		}
	}
	columns := make([]int, len(f.types))
	for i := range f.matches {
		m := &f.matches[i]
		for j, t := range f.types {
			columns[j] = f.column(m.window, t)
		}
		for g := range m.Groups() {
			if v.ended() {
				return nil, v.ctx.Err()
			}
			b.group(m.window, g, columns)
			if q.MaxSamples > 0 && len(b.Profile.Sample) > q.MaxSamples {
				return nil, fmt.Errorf("store: %s profile: %w: %d", q.Kind, ErrTooManySamples, q.MaxSamples)
			}
		}
	}
	// What older windows say of a moment leaves samples without a value.
	b.Profile.Sample = slices.DeleteFunc(b.Profile.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
	})
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	return b.Profile, nil
}

// profileBuilder writes windows as a pprof profile.
type profileBuilder struct {
	code       *code
	withoutIDs bool

	*profilebuilder.Builder[*Location]
	samples map[sampleKey]*profile.Sample
	stack   []*profile.Location // of the sample that is being added
}

type sampleKey struct {
	samples.IDs
	ended  ident.Key
	labels *samples.LabelSet
	leaf   frames.ID
}

func newProfileBuilder(p *profile.Profile) *profileBuilder {
	return &profileBuilder{Builder: profilebuilder.New[*Location](p), samples: make(map[sampleKey]*profile.Sample)}
}

// header returns a profile without samples: what the windows know about all of them.
// Durations add up and the longest period wins, as when pprof merges profiles.
func header(f *found, q *Query) *profile.Profile {
	p := &profile.Profile{PeriodType: &profile.ValueType{}}
	for _, t := range f.types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: t.Name, Unit: t.Unit})
	}
	if q.SampleType != "" {
		p.DefaultSampleType = f.selected.Name
	}
	for _, w := range f.windows {
		p.DurationNanos += int64(w.End.Sub(w.Start))
		if w.Period > p.Period || p.PeriodType.Type == "" {
			p.PeriodType = &profile.ValueType{Type: w.PeriodType.Name, Unit: w.PeriodType.Unit}
			p.Period = w.Period
		}
		if p.DefaultSampleType == "" {
			p.DefaultSampleType = w.DefaultType
		}
	}
	if l, _ := f.looks(); l != nil {
		p.Comments = []string{l.Comment()}
	}
	if from, _ := f.bounds(); !from.IsZero() {
		p.TimeNanos = ident.UnixNano(from)
	}
	return p
}

// group adds the samples of a group of w. columns tell where w has the profile's
// values.
func (b *profileBuilder) group(w *window, g samples.Group, columns []int) {
	key := sampleKey{labels: g.Labels()}
	if !b.withoutIDs {
		key.IDs = samples.IDs{Profile: g.ProfileID(), Span: g.SpanID(), Trace: g.TraceID()}
		key.ended = g.Ended()
	}
	first, last := g.Bounds()
	for i := first; i < last; i++ {
		key.leaf = w.leaf(i)
		s := b.samples[key]
		if s == nil {
			s = b.sample(&key)
			b.samples[key] = s
		}
		for j, column := range columns {
			if column >= 0 {
				s.Value[j] += w.Value(i, column)
			}
		}
	}
}

func (b *profileBuilder) sample(key *sampleKey) *profile.Sample {
	b.stack = b.stack[:0]
	b.code.each(key.leaf, func(l *Location) {
		b.stack = append(b.stack, b.Location(l, func() *profile.Location { return b.describe(l) }))
	})
	s := b.Sample(b.stack)
	for _, l := range key.labels.Labels {
		if !l.Numeric {
			if s.Label == nil {
				s.Label = make(map[string][]string)
			}
			// An empty value too, which b.Label leaves out.
			s.Label[l.Key] = append(s.Label[l.Key], l.Value)
			continue
		}
		if s.NumLabel == nil {
			s.NumLabel = make(map[string][]int64)
			s.NumUnit = make(map[string][]string)
		}
		s.NumLabel[l.Key] = append(s.NumLabel[l.Key], l.Num)
		s.NumUnit[l.Key] = append(s.NumUnit[l.Key], l.Unit)
	}
	// pprof takes a key whose units are all empty for one without units.
	maps.DeleteFunc(s.NumUnit, func(_ string, units []string) bool {
		return !slices.ContainsFunc(units, func(unit string) bool { return unit != "" })
	})
	s.Label = b.Label(s.Label, labelkey.ProfileID, key.Profile)
	s.Label = b.Label(s.Label, labelkey.SpanID, key.Span)
	s.Label = b.Label(s.Label, labelkey.TraceID, key.Trace)
	s.Label = b.Label(s.Label, labelkey.EndedSpanID, key.ended.String())
	return s
}

func (b *profileBuilder) describe(l *Location) *profile.Location {
	p := &profile.Location{
		Mapping:  b.mapping(l.Mapping),
		Address:  l.Address,
		Line:     make([]profile.Line, len(l.Lines)),
		IsFolded: l.folded,
	}
	for i, line := range l.Lines {
		f := line.Function
		p.Line[i] = profile.Line{Line: line.Line, Column: line.column, Function: b.Function(profile.Function{
			Name: f.Name, SystemName: f.systemName, Filename: f.File, StartLine: f.StartLine,
		})}
	}
	return p
}

func (b *profileBuilder) mapping(m *Mapping) *profile.Mapping {
	if m == nil {
		return nil
	}
	return b.Mapping(profile.Mapping{
		Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File, BuildID: m.BuildID,
		HasFunctions: m.hasFunctions, HasFilenames: m.hasFilenames,
		HasLineNumbers: m.hasLineNumbers, HasInlineFrames: m.hasInlineFrames,
	})
}
