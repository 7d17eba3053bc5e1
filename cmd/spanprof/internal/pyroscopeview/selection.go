// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// unsent is how old profiles may be before a server that takes them has them.
const unsent = time.Minute

// merged is the profile that a selector selects; nil if it has no sample.
type merged struct {
	profile *profile.Profile
	total   int64
}

func key(s querier.Selector) string { return fmt.Sprint(s) }

// selectorOf returns what is asked of a profile type.
func (v *view) selectorOf(t querier.Type, c conditions, from, until time.Time) querier.Selector {
	from, until = v.times(from, until)
	if c.ids {
		from, until = around(from, until)
	}
	return querier.Selector{Type: t.ID, Labels: c.labels, Spans: c.spans, Traces: c.traces, From: from, Until: until}
}

// merge returns the profile that a selector selects.
func (v *view) merge(s querier.Selector) (*merged, error) {
	if m, ok := v.merges[key(s)]; ok {
		return m, nil
	}
	p, err := v.client.Merge(v.ctx, s)
	if err != nil {
		return nil, err
	}
	m := &merged{profile: p}
	if p != nil {
		for _, sample := range p.Sample {
			m.total += sample.Value[0]
		}
	}
	v.merges[key(s)] = m
	return m, nil
}

// parts returns the profiles that a query selects, one of each profile type of the server.
// first is the type of the first.
func (v *view) parts(q store.Query) (parts []*merged, first querier.Type, c conditions, err error) {
	if c, err = v.conditionsOf(q.Matchers); err != nil {
		return nil, first, c, err
	}
	first = querier.Type{Kind: q.Kind, Sample: cmp.Or(q.SampleType, standard(q.Kind))}
	types, err := v.sampleTypes(q.Kind, first.Sample, "")
	if err != nil || len(types) == 0 {
		return nil, first, c, err
	}
	first = types[0]
	if c.none {
		return nil, first, c, nil
	}
	for _, t := range types {
		s := v.selectorOf(t, c, q.From, q.Until)
		if len(c.spans) == 1 {
			// The span's own questions are about the same time.
			v.seen[c.spans[0]] = s
		}
		m, err := v.merge(s)
		if err != nil {
			return nil, first, c, err
		}
		if m.profile != nil {
			parts = append(parts, m)
		}
	}
	if first.Momentary() && len(parts) > 0 {
		v.note(fmt.Sprintf("the server adds up what describes a moment, as %s does, over all profiles of this time: shares are right, sums are not", first.Sample))
	}
	return parts, first, c, nil
}

// Samples implements store.View.
func (v *view) Samples(q store.Query) (*store.Samples, error) {
	switch {
	case q.Kind == "":
		return v.kindSums(q)
	case q.Pprof:
		p, err := v.pprof(q)
		return &store.Samples{Kind: q.Kind, Profile: p}, err
	case q.Stacks:
		return v.stacks(q)
	}
	return nil, fmt.Errorf("%w: a Pyroscope server sums by stack alone", store.ErrUnsupported)
}

// stacks answers a query by stack.
func (v *view) stacks(q store.Query) (*store.Samples, error) {
	parts, t, c, err := v.parts(q)
	if err != nil {
		return nil, err
	}
	selection := &store.Samples{Kind: q.Kind, SampleType: t.Sample, Unit: t.Unit, Momentary: t.Momentary()}
	if t.ID == "" {
		return selection, nil // There is no profile of the kind.
	}
	selection.From, selection.Until = v.times(q.From, q.Until)
	selection.Windows = 1
	for _, part := range parts {
		addStacks(selection, part.profile)
		selection.Total += part.total
	}
	if selection.Samples, err = v.samples(q, t, c, selection); err != nil {
		return nil, err
	}
	switch {
	case len(c.spans) > 0 && len(parts) > 0:
		selection.ProfileIDs = len(c.spans)
	case len(c.spans) > 0 && time.Since(selection.Until) < unsent:
		v.note("profiles of the last minute may be on their way to the server: look again")
	}
	return selection, nil
}

// samples returns the number of samples of a selection. The server has it as a profile
// type of its own; of heap profiles it is the number of places.
func (v *view) samples(q store.Query, t querier.Type, c conditions, selection *store.Samples) (int64, error) {
	places := int64(len(selection.Stacks))
	counted := "samples"
	switch {
	case places == 0 || q.Kind == exporter.KindHeap || q.Kind == exporter.KindGoroutine:
		return places, nil
	case t.Sample == counted || t.Sample == "contentions":
		return selection.Total, nil
	case t.Sample == "delay":
		counted = "contentions"
	}
	types, err := v.sampleTypes(q.Kind, counted, "")
	if errors.Is(err, store.ErrUnknownSampleType) {
		return places, nil // There is one for each at least.
	}
	if err != nil {
		return 0, err
	}
	total, err := v.totalOf(types, c, q)
	return max(total, 1), err
}

// addStacks adds the stacks of a profile to a selection.
func addStacks(selection *store.Samples, p *profile.Profile) {
	for _, s := range p.Sample {
		if s.Value[0] != 0 {
			selection.Stacks = append(selection.Stacks, store.StackValue{Stack: s.Location, Value: s.Value[0]})
		}
	}
}

// pprof answers a query for a profile. The server's profiles have one value a sample, of the query's
// type, and no labels.
func (v *view) pprof(q store.Query) (*profile.Profile, error) {
	parts, t, _, err := v.parts(q)
	if err != nil {
		return nil, err
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: t.Sample, Unit: t.Unit}}, PeriodType: &profile.ValueType{}}
	if len(parts) > 0 {
		profiles := make([]*profile.Profile, 0, len(parts))
		for _, part := range parts {
			profiles = append(profiles, part.profile)
		}
		if p, err = profile.Merge(profiles); err != nil {
			return nil, fmt.Errorf("%s: %w", v.client, err)
		}
	}
	from, until := v.times(q.From, q.Until)
	p.TimeNanos, p.DurationNanos = from.UnixNano(), until.Sub(from).Nanoseconds()
	return p, nil
}
