// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// selectorOf returns the selector of a profile type.
func (v *view) selectorOf(t querier.Type, c conditions, from, until time.Time) querier.Selector {
	from, until = v.times(from, until)
	if c.spans != nil {
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
		return v.kinds(q, c)
	case !q.Stacks && !q.Pprof:
		return nil, fmt.Errorf("%w: a Pyroscope server sums by stack alone", store.ErrUnsupported)
	}
	sample := cmp.Or(q.SampleType, standard(q.Kind))
	t, err := v.typeOf(c.service, q.Kind, sample)
	if err != nil {
		return nil, err
	}
	if len(c.spans) == 1 {
		v.seen[c.spans[0]] = c // questions about the span have the same conditions
	}
	m := &merged{}
	if none := c.spans != nil && len(c.spans) == 0; t.ID != "" && !none {
		if m, err = v.merge(v.selectorOf(t, c, q.From, q.Until)); err != nil {
			return nil, err
		}
	}
	answer := &store.Samples{Kind: q.Kind, SampleType: sample, Unit: t.Unit, Momentary: t.Momentary(), Total: m.total}
	if answer.Momentary && m.profile != nil {
		v.note(fmt.Sprintf("the server adds up what describes a moment, as %s does, over all profiles of this time: shares are right, sums are not", sample))
	}
	answer.From, answer.Until = v.times(q.From, q.Until)
	if q.Pprof {
		answer.Profile = pprof(m.profile, answer)
		return answer, nil
	}
	if t.ID == "" {
		return answer, nil // There is no profile of the kind.
	}
	answer.Windows = 1
	if m.profile != nil {
		answer.ProfileIDs = len(c.spans)
		for _, s := range m.profile.Sample {
			if s.Value[0] != 0 {
				answer.Stacks = append(answer.Stacks, store.StackValue{Stack: s.Location, Value: s.Value[0]})
			}
		}
	} else if len(c.spans) > 0 && time.Since(answer.Until) < unsent {
		v.note("profiles of the last minute may be on their way to the server: look again")
	}
	answer.Samples, err = v.samples(q, t, c, answer)
	return answer, err
}

// samples returns the number of samples of an answer. The server has it as a profile
// type of its own. Of kinds without ids it is the number of places.
func (v *view) samples(q store.Query, t querier.Type, c conditions, answer *store.Samples) (int64, error) {
	places := int64(len(answer.Stacks))
	switch {
	case places == 0 || q.Kind != exporter.KindCPU && q.Kind != exporter.KindWall:
		return places, nil
	case t.Sample == "samples":
		return answer.Total, nil
	}
	total, err := v.total(q, c, "samples")
	if errors.Is(err, store.ErrUnknownSampleType) {
		return places, nil // There is one for each at least.
	}
	return max(total, 1), err
}

// total returns the sum of what a query selects of a sample type.
func (v *view) total(q store.Query, c conditions, sample string) (int64, error) {
	t, err := v.typeOf(c.service, q.Kind, sample)
	if err != nil || t.ID == "" {
		return 0, err
	}
	s := v.selectorOf(t, c, q.From, q.Until)
	if m, ok := v.merges[key(s)]; ok {
		return m.total, nil
	}
	return v.client.Total(v.ctx, s)
}

// pprof returns a profile of the server for download. It has one value a sample and no labels.
func pprof(of *profile.Profile, answer *store.Samples) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: answer.SampleType, Unit: answer.Unit}}, PeriodType: &profile.ValueType{}}
	if of != nil {
		p = of
	}
	p.TimeNanos, p.DurationNanos = answer.From.UnixNano(), answer.Until.Sub(answer.From).Nanoseconds()
	return p
}

// kinds answers a query without a kind: by samples for spans, else by series. The number of
// samples is unknown: it is 1.
func (v *view) kinds(q store.Query, c conditions) (*store.Samples, error) {
	if c.spans != nil {
		return v.kindsOfSpans(q, c)
	}
	all, err := v.series()
	service := c.service
	if c.labels != "{}" && c.labels != "{"+serviceName+"="+strconv.Quote(service)+"}" {
		all, err = v.seriesOf(c.labels, profileType) // all are selected
		service = ""
	}
	answer := &store.Samples{}
	for _, s := range all {
		selected := service == "" || s.service == service
		known := slices.ContainsFunc(answer.Sums, func(other store.Sum) bool { return other.Kind == s.Kind })
		if selected && !known {
			answer.Sums = append(answer.Sums, store.Sum{Kind: s.Kind, Samples: 1})
		}
	}
	slices.SortFunc(answer.Sums, func(a, b store.Sum) int { return cmp.Compare(a.Kind, b.Kind) })
	return answer, err
}

// kindsOfSpans returns the kinds with samples of some spans, and their sums.
func (v *view) kindsOfSpans(q store.Query, c conditions) (*store.Samples, error) {
	answer := &store.Samples{}
	if len(c.spans) == 0 {
		return answer, nil
	}
	for _, kind := range []exporter.Kind{exporter.KindCPU, exporter.KindWall} {
		q.Kind = kind
		n, err := v.total(q, c, standard(kind))
		if err != nil && !errors.Is(err, store.ErrUnknownSampleType) {
			return nil, err
		}
		if n > 0 {
			answer.Sums = append(answer.Sums, store.Sum{Kind: kind, Value: n, Samples: 1})
		}
	}
	return answer, nil
}
