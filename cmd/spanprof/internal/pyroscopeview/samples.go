// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
)

// unsent is how old profiles may be before a server that takes them has them.
const unsent = time.Minute

// merged is the profile that a selector selects; nil if it has no sample.
type merged struct {
	profile *profile.Profile
	total   int64
}

// standard returns the sample type of a kind that a query means which names none.
func standard(kind exporter.Kind) string {
	for _, t := range flameql.Types {
		if t.Kind == kind && t.SampleType != "" {
			return t.SampleType
		}
	}
	return "samples"
}

// selectorOf returns what is asked of a profile type.
func (v *view) selectorOf(t querier.Type, c conditions, from, until time.Time) querier.Selector {
	from, until = v.times(from, until)
	if c.ids {
		from, until = around(from, until)
	}
	return querier.Selector{Type: t.ID, Labels: c.labels, Spans: c.spans, From: from, Until: until}
}

func key(s querier.Selector) string { return fmt.Sprint(s) }

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

// Samples implements store.View.
func (v *view) Samples(q store.Query) (*store.Samples, error) {
	c, err := v.conditionsOf(q.Matchers)
	if err != nil {
		return nil, err
	}
	switch {
	case q.Kind == "":
		return v.kinds(c)
	case !q.Stacks && !q.Pprof:
		return nil, fmt.Errorf("%w: a Pyroscope server sums by stack alone", store.ErrUnsupported)
	}
	t := querier.Type{Kind: q.Kind, Sample: cmp.Or(q.SampleType, standard(q.Kind))}
	types, err := v.typesOf(q.Kind, t.Sample)
	if err != nil {
		return nil, err
	}
	if len(c.spans) == 1 {
		v.seen[c.spans[0]] = c // questions about the span have the same conditions
	}
	var parts []*profile.Profile
	answer := &store.Samples{Kind: q.Kind, SampleType: t.Sample}
	for i := range types {
		t = types[i]
		if c.none {
			break
		}
		m, err := v.merge(v.selectorOf(t, c, q.From, q.Until))
		if err != nil {
			return nil, err
		}
		if m.profile != nil {
			parts = append(parts, m.profile)
			answer.Total += m.total
		}
	}
	answer.Unit, answer.Momentary = t.Unit, t.Momentary()
	if t.Momentary() && len(parts) > 0 {
		v.note(fmt.Sprintf("the server adds up what describes a moment, as %s does, over all profiles of this time: shares are right, sums are not", t.Sample))
	}
	if q.Pprof {
		answer.Profile, err = v.pprof(q, t, parts)
		return answer, err
	}
	if len(types) == 0 {
		return answer, nil // There is no profile of the kind.
	}
	answer.From, answer.Until = v.times(q.From, q.Until)
	answer.Windows = 1
	for _, p := range parts {
		for _, s := range p.Sample {
			if s.Value[0] != 0 {
				answer.Stacks = append(answer.Stacks, store.StackValue{Stack: s.Location, Value: s.Value[0]})
			}
		}
	}
	switch {
	case len(c.spans) > 0 && len(parts) > 0:
		answer.ProfileIDs = len(c.spans)
	case len(c.spans) > 0 && time.Since(answer.Until) < unsent:
		v.note("profiles of the last minute may be on their way to the server: look again")
	}
	answer.Samples, err = v.samples(q, t, c, answer)
	return answer, err
}

// samples returns the number of samples of an answer. The server has it as a profile
// type of its own; of heap profiles it is the number of places.
func (v *view) samples(q store.Query, t querier.Type, c conditions, answer *store.Samples) (int64, error) {
	places := int64(len(answer.Stacks))
	counted := "samples"
	switch {
	case places == 0 || q.Kind == exporter.KindHeap || q.Kind == exporter.KindGoroutine:
		return places, nil
	case t.Sample == counted || t.Sample == "contentions":
		return answer.Total, nil
	case t.Sample == "delay":
		counted = "contentions"
	}
	total, err := v.total(q, c, counted)
	if errors.Is(err, store.ErrUnknownSampleType) {
		return places, nil // There is one for each at least.
	}
	return max(total, 1), err
}

// total returns the sum of what a query selects of a sample type.
func (v *view) total(q store.Query, c conditions, sample string) (total int64, err error) {
	types, err := v.typesOf(q.Kind, sample)
	for _, t := range types {
		s := v.selectorOf(t, c, q.From, q.Until)
		if m, ok := v.merges[key(s)]; ok {
			total += m.total
			continue
		}
		n, err := v.client.Total(v.ctx, s)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, err
}

// pprof returns profiles as one. The server's have one value a sample, of the query's type,
// and no labels.
func (v *view) pprof(q store.Query, t querier.Type, parts []*profile.Profile) (*profile.Profile, error) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: t.Sample, Unit: t.Unit}}, PeriodType: &profile.ValueType{}}
	if len(parts) > 0 {
		var err error
		if p, err = profile.Merge(parts); err != nil {
			return nil, fmt.Errorf("%s: %w", v.client, err)
		}
	}
	from, until := v.times(q.From, q.Until)
	p.TimeNanos, p.DurationNanos = from.UnixNano(), until.Sub(from).Nanoseconds()
	return p, nil
}

// kinds answers a query without a kind by the series of the service, with ids by those with
// ids. The number of samples is unknown: it is 1.
func (v *view) kinds(c conditions) (*store.Samples, error) {
	all, err := v.series()
	answer := &store.Samples{}
	for _, s := range all {
		selected := c.service == "" || s.service == c.service
		if c.ids {
			selected = selected && !c.none && (s.Kind == exporter.KindCPU || s.Kind == exporter.KindWall)
		}
		known := slices.ContainsFunc(answer.Sums, func(other store.Sum) bool { return other.Kind == s.Kind })
		if selected && !known {
			answer.Sums = append(answer.Sums, store.Sum{Kind: s.Kind, Samples: 1})
		}
	}
	slices.SortFunc(answer.Sums, func(a, b store.Sum) int { return cmp.Compare(a.Kind, b.Kind) })
	return answer, err
}
