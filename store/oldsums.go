// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/segment"
)

const serviceName = "service_name"

// query returns the query of segments.
func (q *Query) query() *segment.Query {
	of := &segment.Query{Kind: q.Kind, Type: q.SampleType}
	of.From, of.Until = bounds(q.From, q.Until)
	for _, m := range q.Matchers {
		if m.m.Label != "" {
			of.Matchers = append(of.Matchers, m.m)
		}
	}
	return of
}

// samples answers a query of segments, one of few at a time.
func (v *view) samples(q *segment.Query) (*segment.Answer, error) {
	if err := v.begin(); err != nil {
		return nil, err
	}
	defer v.end()
	a, err := v.Samples(v.ctx, q)
	return a, failed(err)
}

func (v *view) Select(q Query) (*Selection, error) {
	of := q.query()
	of.Stacks = true
	a, err := v.samples(of)
	if err != nil {
		return nil, err
	}
	s := &Selection{
		Kind: q.Kind, SampleType: a.Type.Name, Unit: a.Type.Unit, Total: a.Total, Samples: a.Samples,
		ProfileIDs: a.ProfileIDs, SpanNames: a.Names, Windows: a.Held, Looks: a.Looks, LooksLength: time.Duration(a.LooksLength),
	}
	if a.Held > 0 {
		s.From, s.Until = time.Unix(0, a.From), time.Unix(0, a.Until)
	}
	stack := a.Stacks()
	for _, sum := range a.Sums {
		s.Stacks = append(s.Stacks, StackValue{stack(sum.Stack), sum.Value})
	}
	if q.Kind == exporter.KindHeap {
		s.Samples = int64(len(s.Stacks))
	}
	return s, nil
}

func (v *view) Profile(q Query) (*profile.Profile, error) {
	if err := v.begin(); err != nil {
		return nil, err
	}
	defer v.end()
	p, err := v.View.Profile(v.ctx, q.query(), q.WithoutIDs, q.MaxSamples)
	return p, failed(err)
}

func (v *view) Kinds(q Query) ([]KindTotal, error) {
	if err := v.begin(); err != nil {
		return nil, err
	}
	defer v.end()
	kinds, err := v.View.Kinds(v.ctx, q.query())
	var totals []KindTotal
	for _, k := range kinds {
		totals = append(totals, KindTotal(k))
	}
	return totals, failed(err)
}

func (v *view) Windows(q WindowQuery) ([]WindowInfo, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	var list []WindowInfo
	for _, w := range v.View.Windows(bounds(q.From, q.Until)) {
		if q.Kind != "" && q.Kind != w.Kind || q.Service != "" && q.Service != w.Service {
			continue
		}
		list = append(list, WindowInfo{
			Kind: w.Kind, Service: w.Service, ServiceVersion: w.Version, Start: w.Start, Duration: w.End.Sub(w.Start),
			Samples: w.Samples, Bytes: w.Bytes, Kernel: w.Kernel, Earlier: process(w.Process),
		})
	}
	slices.SortStableFunc(list, func(a, b WindowInfo) int { return a.Start.Compare(b.Start) })
	return list, nil
}

func (v *view) Timeline(q Query, n int) (*Timeline, error) {
	of := q.query()
	of.By, of.Windows = []string{labelkey.SpanName, serviceName}, true
	a, err := v.samples(of)
	if err != nil {
		return nil, err
	}
	t := &Timeline{SampleType: a.Type.Name, Unit: a.Type.Unit, Momentary: a.Type.Momentary()}
	windows, err := v.Windows(WindowQuery{Kind: q.Kind, From: q.From, Until: q.Until})
	if err != nil {
		return nil, err
	}
	for _, w := range windows {
		t.Buckets = append(t.Buckets, TimelineBucket{Start: w.Start, Duration: w.Duration})
	}
	for i, s := range a.Sums { // of kept spans too
		if i > 0 && s.Start == a.Sums[i-1].Start {
			continue
		}
		t.Buckets = append(t.Buckets, TimelineBucket{Start: time.Unix(0, s.Start)})
	}
	slices.SortFunc(t.Buckets, func(a, b TimelineBucket) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	t.Buckets = slices.CompactFunc(t.Buckets, func(a, b TimelineBucket) bool { return a.Start.Equal(b.Start) })

	totals, values := make(map[string]int64), make([]int64, len(a.Labels))
	for _, s := range a.Sums {
		values[s.Labels] += s.Value
	}
	for l, value := range values {
		if name := a.Labels[l][0]; name != "" {
			totals[name] += value
		}
	}
	for name, total := range totals {
		if total != 0 {
			t.Names = append(t.Names, name)
		}
	}
	slices.SortFunc(t.Names, func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b)) })
	t.Names = t.Names[:min(max(n, 0), len(t.Names))]
	for i := range t.Buckets {
		t.Buckets[i].Values = make([]int64, len(t.Names))
	}
	names := make([]int, len(a.Labels))
	for l, of := range a.Labels {
		names[l] = slices.Index(t.Names, of[0])
	}
	first := 0
	for i, s := range a.Sums {
		name, start := names[s.Labels], time.Unix(0, s.Start)
		if i == 0 || s.Start != a.Sums[i-1].Start {
			first, _ = slices.BinarySearchFunc(t.Buckets, start, func(b TimelineBucket, at time.Time) int { return b.Start.Compare(at) })
		}
		last := first + 1
		if t.Momentary {
			until := currentUntil(windows, start, a.Labels[s.Labels][1])
			at, _ := slices.BinarySearchFunc(t.Buckets, until, func(b TimelineBucket, at time.Time) int { return b.Start.Compare(at) })
			last = max(last, at)
		}
		for b := first; b < last; b++ {
			if name >= 0 {
				t.Buckets[b].Values[name] += s.Value
			} else {
				t.Buckets[b].Rest += s.Value
			}
		}
	}
	return t, nil
}

// currentUntil returns until when a momentary value holds: to the end of its window, or to
// the start of the service's next one.
func currentUntil(windows []WindowInfo, start time.Time, service string) (until time.Time) {
	for _, w := range windows {
		if w.Service != service {
			continue
		}
		if w.Start.Equal(start) && w.Start.Add(w.Duration).After(until) {
			until = w.Start.Add(w.Duration)
		} else if w.Start.After(start) {
			if w.Start.Before(until) {
				until = w.Start
			}
			break
		}
	}
	return until
}

func (v *view) LabelTotals(q Query) ([]LabelTotal, error) {
	of := q.query()
	of.By = []string{serviceName, labelkey.SpanName}
	a, err := v.samples(of)
	if err != nil {
		return nil, err
	}
	var list []LabelTotal
	for _, s := range a.Sums {
		list = append(list, LabelTotal{a.Labels[s.Labels][0], a.Labels[s.Labels][1], s.Value})
	}
	return list, nil
}

// name is the key of sums by name.
type name struct{ service, name string }

func (v *view) NameTotals() ([]NameTotal, error) {
	if err := v.begin(); err != nil {
		return nil, err
	}
	defer v.end()
	sums, err := v.Names(v.ctx)
	if err != nil {
		return nil, failed(err)
	}
	exemplars, err := v.exemplars(&SpanQuery{})
	if err != nil {
		return nil, err
	}
	spans := make(map[name]int) // manual exemplars
	for i := range exemplars {
		if x := &exemplars[i]; x.Name != "" {
			spans[name{x.Service, x.Name}]++
		}
	}
	var list []NameTotal
	for _, s := range sums {
		key := name{s.Service, s.Name}
		list = append(list, NameTotal{
			Service: s.Service, Name: s.Name, Label: s.Label, Spans: int(s.Spans) + spans[key], Errors: int(s.Errors),
			Duration: time.Duration(s.Duration), MaxDuration: time.Duration(s.MaxDuration), CPU: time.Duration(s.CPU), CPUSamples: s.Samples,
		})
		delete(spans, key)
	}
	for key, n := range spans { // with samples of other kinds only
		list = append(list, NameTotal{Service: key.service, Name: key.name, Label: key.name, Spans: n})
	}
	slices.SortFunc(list, func(a, b NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return list, nil
}

func (v *view) NameSpreads(q SpanQuery) ([]NameSpread, error) {
	q.Running, q.Requests, q.Limit, q.Order = false, false, 0, Newest
	found, err := v.list(&q)
	if err != nil {
		return nil, failed(err)
	}
	type spread struct {
		NameSpread
		durations, cpus []int64
	}
	names := make(map[name]*spread)
	of := func(service, text string) *spread {
		key := name{service, text}
		if names[key] == nil {
			names[key] = &spread{NameSpread: NameSpread{Service: service, Name: text}}
		}
		return names[key]
	}
	inclusive, selected := v.Inclusive(), make(map[ident.Key]bool)
	for i := range found {
		selected[found[i].ID] = true
	}
	for i := range found {
		s := &found[i]
		to, cpu := of(s.Service, s.Name), s.CPU+inclusive[s.ID]
		to.Spans++
		if s.Err {
			to.Errors++
		}
		to.Label = cmp.Or(to.Label, s.Label)
		to.Duration += time.Duration(s.Duration)
		to.CPU += time.Duration(s.CPU)
		to.durations, to.cpus = append(to.durations, s.Duration), append(to.cpus, cpu)
		below := false // one of its own name
		if v.Nested() {
			v.Above(s.ID, func(id ident.Key) bool {
				above, service := v.NameOf(id)
				below = selected[id] && above == s.Name && service == s.Service
				return !below
			})
		}
		if !below {
			to.CPUInclusive += time.Duration(cpu)
		}
	}
	exemplars, err := v.exemplars(&q)
	if err != nil {
		return nil, err
	}
	for i := range exemplars {
		x := &exemplars[i]
		to := of(x.Service, x.Name)
		to.Spans++
		to.CPU += x.CPU
		to.CPUInclusive += x.CPU
		to.cpus = append(to.cpus, int64(x.CPU))
		to.Label = cmp.Or(to.Label, x.Label)
	}
	list := make([]NameSpread, 0, len(names))
	for _, s := range names {
		s.Durations, s.CPUs = newSpread(s.durations), newSpread(s.cpus)
		list = append(list, s.NameSpread)
	}
	return list, v.ctx.Err()
}

// newSpread sorts times.
func newSpread(times []int64) Spread {
	s := Spread{Count: len(times)}
	if s.Count == 0 {
		return s
	}
	slices.Sort(times)
	quantile := func(percent int) time.Duration { return time.Duration(times[(len(times)*percent+99)/100-1]) }
	s.P50, s.P95, s.Max = quantile(50), quantile(95), quantile(100)
	octave := func(t int64) int { return bits.Len64(uint64(max(t, 1))) - 1 }
	s.Octaves = make([]int, octave(times[len(times)-1])+1)
	for _, t := range times {
		s.Octaves[octave(t)]++
	}
	return s
}

func (v *view) KeptAttributes() []string { return v.KeptKeys() }

// eachAttribute visits the spans with their own attributes and their children's.
func (v *view) eachAttribute(visit func(s *segment.Span, own, below []Attribute)) error {
	all, err := v.List(v.ctx, &segment.SpanQuery{})
	if err != nil {
		return failed(err)
	}
	children := v.Children(all)
	for i := range all {
		var own, below Span
		v.attributes(&own, all[i].Attributes, "", 1<<20)
		for _, c := range children[all[i].ID] {
			v.attributes(&below, c.Attributes, c.Name, 1<<20)
		}
		visit(&all[i], own.Attributes, below.Attributes)
	}
	return v.ctx.Err()
}

func (v *view) AttributeKeys() ([]AttributeKey, error) {
	counts := make(map[string]int)
	err := v.eachAttribute(func(_ *segment.Span, own, below []Attribute) {
		seen := make(map[string]bool)
		for _, a := range slices.Concat(own, below) {
			if !seen[a.Key] {
				seen[a.Key] = true
				counts[a.Key]++
			}
		}
	})
	keys := make([]AttributeKey, 0, len(counts))
	for key, n := range counts {
		keys = append(keys, AttributeKey{key, n})
	}
	slices.SortFunc(keys, func(a, b AttributeKey) int {
		return cmp.Or(cmp.Compare(b.Spans, a.Spans), strings.Compare(a.Key, b.Key))
	})
	return keys, err
}

func (v *view) AttributeTotals(key string) ([]AttributeTotal, error) {
	totals := make(map[string]*AttributeTotal)
	err := v.eachAttribute(func(s *segment.Span, own, below []Attribute) {
		var values []string
		for _, a := range slices.Concat(own, below) {
			if a.Key == key && !slices.Contains(values, a.Value) {
				values = append(values, a.Value)
			}
		}
		shared := len(values) > 1 || slices.ContainsFunc(below, func(a Attribute) bool { return a.Key == key })
		for _, value := range values {
			if totals[value] == nil {
				totals[value] = &AttributeTotal{Value: value}
			}
			t := totals[value]
			t.Shared = t.Shared || shared
			t.Spans++
			t.Duration += time.Duration(s.Duration)
			t.MaxDuration = max(t.MaxDuration, time.Duration(s.Duration))
			t.CPU += time.Duration(s.CPU)
			if s.Err {
				t.Errors++
			}
		}
	})
	list := make([]AttributeTotal, 0, len(totals))
	for _, t := range totals {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b AttributeTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), strings.Compare(a.Value, b.Value))
	})
	return list, err
}
