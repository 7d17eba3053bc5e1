// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// fillUp ends spans and exports windows until all that came before made room.
func fillUp(t *testing.T, s *store.Store) {
	t.Helper()
	tracer := newTracerProvider(s).Tracer("")
	r := readRecording(t)
	evicted := s.Stats()
	for n := 0; s.Stats().SpansEvicted < evicted.SpansEvicted+int64(evicted.Spans)+1000; n++ {
		_, span := tracer.Start(t.Context(), "GET /new", at(1))
		span.End(at(1.001))
	}
	for n := 2; s.Stats().WindowsEvicted < evicted.WindowsEvicted+int64(evicted.Windows)+5; n++ {
		export(t, s, r.replay(n, exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(n) * step), Duration: step, Resource: checkout}, nil))
	}
}

// TestExtremesAreKept has spans and samples outlive all that came with them.
func TestExtremesAreKept(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(6<<20), store.WithSpansPerName(3))
	tracer := newTracerProvider(s).Tracer("")
	// Of 100 spans the first are the slowest, the last have most CPU time,
	// and one has an error.
	var samples []sample
	var ids []string
	for i := range 100 {
		_, span := tracer.Start(t.Context(), "GET /", at(0))
		if i == 50 {
			span.SetStatus(codes.Error, "out of stock")
		}
		span.End(at(1 - float64(i)/200))
		id := idOf(span)
		ids = append(ids, id)
		samples = append(samples, sample{fmt.Sprint("main;f", i), 1 + int64(i), labels("profile_id", id, "span_id", id, "span_name", "GET /", "i", strconv.Itoa(i%2))})
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)), inWindow(0, exporter.KindWall, cpuProfile(samples...)))
	before := make(map[string]store.Span)
	profiles := make(map[string][]string)
	for _, id := range ids {
		before[id], _ = s.Span(id)
		profiles[id] = profileOf(t, s, id)
	}
	fillUp(t, s)

	var got []string
	for _, span := range s.Spans(store.SpanQuery{Name: "GET /", Order: store.Slowest}) {
		got = append(got, span.ProfileID)
		want := before[span.ProfileID]
		if diff := cmp.Diff(want, span); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(profiles[span.ProfileID], profileOf(t, s, span.ProfileID)); diff != "" {
			t.Error(diff)
		}
	}
	// The samples of all came at once, in the order of the ids: the first is the
	// example of this latency.
	example := slices.Index(ids, slices.Min(ids))
	var want []string
	for i, id := range ids {
		if i < 3 || i == 50 || i >= 97 || i == example {
			want = append(want, id)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("kept:", diff)
	}
	// Their samples are no measure of the time in which there are no others.
	sel, err := s.Select(store.Query{Kind: exporter.KindCPU, Until: epoch.Add(step)})
	if err != nil || sel.Total != 0 || sel.Windows != 0 {
		t.Errorf("%+v, %v", sel, err)
	}
	byID := []store.Matcher{matcher(t, "span_id", store.MatchEqual, ids[99])}
	sel, err = s.Select(store.Query{Kind: exporter.KindCPU, Matchers: byID, Until: epoch.Add(step)})
	if err != nil || sel.Samples != 100 || sel.Windows != 1 || !sel.From.Equal(epoch) {
		t.Errorf("%+v, %v", sel, err)
	}
	timeline, err := s.Timeline(store.Query{Kind: exporter.KindCPU, SampleType: "samples", Matchers: byID}, 1)
	if err != nil || !timeline.Buckets[0].Start.Equal(epoch) || !slices.Equal(timeline.Buckets[0].Values, []int64{100}) {
		t.Errorf("%+v, %v", timeline, err)
	}
	if got := s.Kinds(store.Query{Matchers: byID}); !slices.Equal(got, []store.KindTotal{{exporter.KindCPU, 100, 1}, {exporter.KindWall, 100, 1}}) {
		t.Error(got)
	}
	// The sums are those of the windows held.
	for _, total := range s.NameTotals() {
		if total.Name == "GET /" && total.Service == "checkout" {
			t.Errorf("%+v", total)
		}
	}

	// When there are slower ones, they go, and their samples when there is
	// need of room. Those of the slowest with samples stay until others have any.
	samples = nil
	for range 3 {
		_, span := tracer.Start(t.Context(), "GET /", at(0))
		span.End(at(2))
		id := idOf(span)
		samples = append(samples, sample{"main;f", 1, labels("profile_id", id, "span_id", id)})
	}
	slowest := 0
	if example == slowest {
		slowest++
	}
	if span, ok := s.Span(ids[slowest]); !ok || span.SummaryMissing || span.SamplesHeld == 0 {
		t.Errorf("the slowest with samples is not kept: %+v", span)
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	if span, ok := s.Span(ids[slowest]); ok && !span.SummaryMissing {
		t.Error("no longer among the slowest, but kept")
	}
	for s.Look().Windows+s.Look().Kept > 0 {
		if s.Look().Kept > 0 {
			s.EvictKept()
		} else {
			s.EvictOldest()
		}
	}
	for _, span := range s.Spans(store.SpanQuery{}) {
		if span.SamplesHeld != 0 {
			t.Errorf("held, with no window left: %+v", span)
		}
	}
	if n := s.Look().Nodes; n != 0 || s.Look().KeptBytes != 0 {
		t.Errorf("%d nodes and %d bytes are left", n, s.Look().KeptBytes)
	}
}

func profileOf(t *testing.T, s *store.Store, id string) []string {
	t.Helper()
	p, err := s.Profile(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "span_id", store.MatchEqual, id)}})
	if err != nil || p.CheckValid() != nil {
		t.Fatal(err, p.CheckValid())
	}
	return sums(p, 1)
}

// The names that have extremes of their own are bounded, and so are the others.
func TestManyNames(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(2<<20), store.WithSpansPerName(5))
	tracer := newTracerProvider(s).Tracer("")
	const n = 20000
	for i := range n {
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i), at(0))
		span.End(at(1 + float64(i%1000)))
	}
	if slowest := s.Spans(store.SpanQuery{Order: store.Slowest, Limit: 1})[0]; slowest.Duration != 1000*step {
		t.Error("slowest:", slowest.Duration)
	}
	if stats := s.Stats(); stats.Bytes > stats.MaxBytes/4 || stats.Spans < 480 || int64(stats.Spans)+stats.SpansEvicted != n {
		t.Errorf("%+v", stats)
	}
	// All are counted, though not all by their names.
	spans := 0
	totals := s.NameTotals()
	for _, total := range totals {
		spans += total.Spans
	}
	if i := slices.IndexFunc(totals, func(t store.NameTotal) bool { return t.Name == "other" }); spans != n || len(totals) > 1001 || i < 0 {
		t.Errorf("%d spans of %d names", spans, len(totals))
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile()))
	if len(s.NameTotals()) != len(totals) {
		t.Error("the window did not take the counts over")
	}
	s.EvictOldest()
	if got := s.NameTotals(); len(got) != 0 {
		t.Errorf("%d names without a window", len(got))
	}
}

// TestOrphansAreBounded has samples of spans that the store never hears of.
func TestOrphansAreBounded(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(2<<20))
	most := int64(0)
	for n := range 20 {
		var samples []sample
		for i := range 300 {
			id := fmt.Sprintf("%016x", 1+n*300+i)
			samples = append(samples, sample{"f", 1, labels("profile_id", id, "span_id", id, "span_name", fmt.Sprint("GET /", i))})
		}
		export(t, s, inWindow(n, exporter.KindCPU, cpuProfile(samples...)))
		most = max(most, s.Look().Spans)
	}
	if most == 0 || most > 2<<20/4/15 {
		t.Errorf("orphans take %d bytes", most)
	}
	stats := s.Stats()
	if stats.SpansWithSamples != 20*300 {
		t.Errorf("%+v", stats)
	}
	// They are counted by their label.
	var cpu time.Duration
	for _, total := range s.NameTotals() {
		cpu += total.CPU
		if total.Spans != 0 {
			t.Errorf("%+v", total)
		}
	}
	if want := time.Duration(stats.Windows) * 300 * tick; cpu != want {
		t.Errorf("CPU time by name: %s, want %s", cpu, want)
	}
}
