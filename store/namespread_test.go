// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

func nameSpreads(t *testing.T, s *store.Store, q store.SpanQuery) map[string]store.NameSpread {
	t.Helper()
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list, err := v.(store.Measured).NameSpreads(q)
	if err != nil {
		t.Fatal(err)
	}
	by := make(map[string]store.NameSpread)
	for _, n := range list {
		by[n.Service+" "+n.Name] = n
	}
	return by
}

// NameSpreads is what the list of all spans adds up to, and its quantiles are those of the
// sorted times.
func TestNameSpreads(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	type sums struct {
		spans     int
		cpu       time.Duration
		durations []time.Duration
	}
	for what, q := range map[string]store.SpanQuery{
		"all": {}, "a service": {Service: "cart"}, "longer ones": {MinDuration: 2 * time.Second}, "a name": {Name: "GET /3"},
		"a time": {From: epoch.Add(2500 * time.Millisecond)},
	} {
		want := map[string]*sums{}
		for _, span := range s.Spans(q) {
			key := span.Service + " " + span.Name
			if want[key] == nil {
				want[key] = &sums{}
			}
			w := want[key]
			w.spans++
			w.cpu += span.CPU
			if !span.Manual {
				w.durations = append(w.durations, span.Duration)
			}
		}
		got := nameSpreads(t, s, q)
		if len(got) != len(want) || len(got) == 0 {
			t.Errorf("%s: %d names, want %d", what, len(got), len(want))
		}
		for key, w := range want {
			g := got[key]
			if g.Spans != w.spans || g.CPU != w.cpu || g.CPUInclusive != w.cpu || g.Durations.Count != len(w.durations) {
				t.Errorf("%s, %s: %+v, want %d spans with %v of CPU", what, key, g, w.spans, w.cpu)
			}
			if len(w.durations) == 0 {
				continue
			}
			slices.Sort(w.durations)
			if last := w.durations[len(w.durations)-1]; g.Durations.Max != last {
				t.Errorf("%s, %s: the longest took %v, want %v", what, key, g.Durations.Max, last)
			}
			for percent, value := range map[int]time.Duration{50: g.Durations.P50, 95: g.Durations.P95} {
				below, upTo := 0, 0
				for _, d := range w.durations {
					if d < value {
						below++
					}
					if d <= value {
						upTo++
					}
				}
				if n := len(w.durations); below*100 >= n*percent || upTo*100 < n*percent {
					t.Errorf("%s, %s: %d of %d are below p%d, %d up to it", what, key, below, n, percent, upTo)
				}
			}
			total := 0
			for i, n := range g.Durations.Octaves {
				total += n
				for _, d := range w.durations {
					if d>>i == 1 {
						n--
					}
				}
				if n != 0 {
					t.Errorf("%s, %s: octave %d is off by %d", what, key, i, n)
				}
			}
			if total != len(w.durations) {
				t.Errorf("%s, %s: %d spans in octaves, want %d", what, key, total, len(w.durations))
			}
		}
	}
}

// CPU time of a span counts once for each name of the spans above it.
func TestNameSpreadsInclusive(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	ctx := t.Context()
	var ids []string
	var ends []func()
	for i, name := range []string{"request", "walk", "other", "walk"} {
		c, span := tracer.Start(ctx, name, at(0))
		ctx = c
		id := idOf(span)
		span.SetAttributes(attribute.String("pyroscope.profile.id", id))
		ids = append(ids, id)
		ends = append(ends, func() { span.End(at(float64(8 - i))) })
	}
	for _, end := range slices.Backward(ends) {
		end()
	}
	var samples []sample
	for i, id := range ids {
		samples = append(samples, sample{"f", []int64{1, 10, 100, 1000}[i], labels("span_id", id, "profile_id", id, "span_name", "n")})
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	got := nameSpreads(t, s, store.SpanQuery{})
	for name, want := range map[string]struct{ own, inclusive time.Duration }{
		"request": {tick, 1111 * tick}, "walk": {1010 * tick, 1110 * tick}, "other": {100 * tick, 1100 * tick},
	} {
		if g := got["checkout "+name]; g.CPU != want.own || g.CPUInclusive != want.inclusive {
			t.Errorf("%s has %v of its own and %v with those below, want %v and %v", name, g.CPU, g.CPUInclusive, want.own, want.inclusive)
		}
	}
	// The walk below is one of the selected walk, though the span between is not selected.
	if g := nameSpreads(t, s, store.SpanQuery{Name: "walk"})["checkout walk"]; g.CPUInclusive != 1110*tick {
		t.Errorf("walks alone have %v, want %v", g.CPUInclusive, 1110*tick)
	}
}

// LabelTotals add up to what a query selects.
func TestLabelTotals(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list, err := v.(store.Measured).LabelTotals(store.Query{Kind: exporter.KindCPU, SampleType: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, l := range list {
		total += l.Value
		m, err := store.NewMatcher("span_name", store.MatchEqual, l.Label)
		if err != nil {
			t.Fatal(err)
		}
		service, err := store.NewMatcher("service_name", store.MatchEqual, l.Service)
		if err != nil {
			t.Fatal(err)
		}
		selected, err := v.Select(store.Query{Kind: exporter.KindCPU, SampleType: "cpu", Matchers: []store.Matcher{m, service}})
		if err != nil || selected.Total != l.Value {
			t.Errorf("%s %q: %d, want %d, error %v", l.Service, l.Label, l.Value, selected.Total, err)
		}
	}
	if all, err := v.Select(store.Query{Kind: exporter.KindCPU, SampleType: "cpu"}); err != nil || all.Total != total {
		t.Errorf("the labels have %d together, want %d, error %v", total, all.Total, err)
	}
}

// The sums by name end with their request.
func TestNameSpreadsEnd(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	v, err := s.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	cancel()
	if _, err := v.(store.Measured).NameSpreads(store.SpanQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the spreads end with %v", err)
	}
	if _, err := v.(store.Measured).LabelTotals(store.Query{Kind: exporter.KindCPU}); !errors.Is(err, context.Canceled) {
		t.Errorf("the labels end with %v", err)
	}
}

func BenchmarkNameSpreads(b *testing.B) {
	s := newStore(b)
	tracer := newTracerProvider(s).Tracer("")
	for i := range 60_000 {
		_, span := tracer.Start(b.Context(), fmt.Sprint("GET /", i%300), at(0))
		span.End(at(1 + float64(i%1000)/100))
	}
	v, err := s.View(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.(store.Measured).NameSpreads(store.SpanQuery{}); err != nil {
			b.Fatal(err)
		}
	}
}
