// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// inTimedWindow is inWindow with the times of each sample, after the start of the window.
func inTimedWindow(n int, times [][]time.Duration, samples ...sample) *exporter.Profile {
	start := epoch.Add(time.Duration(n) * step)
	of := make([][]int64, len(times))
	for i := range times {
		for _, at := range times[i] {
			of[i] = append(of[i], start.Add(at).UnixNano())
		}
	}
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: step, Resource: checkout}, cpuProfile(samples...), of...)
}

func cpuTimes(t *testing.T, s *store.Store, id string, parts int) []store.CPUTime {
	t.Helper()
	list, err := openView(t, s).Spans(store.SpanQuery{ID: id, Parts: parts})
	if err != nil || len(list.Spans) != 1 {
		t.Fatalf("%+v: %v", list, err)
	}
	return list.Spans[0].CPUTimes
}

// checkCPUTimes compares moments, which are rounded, and what they stand for.
func checkCPUTimes(t *testing.T, got []store.CPUTime, want ...store.CPUTime) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(g, w store.CPUTime) bool {
		return g.CPU == w.CPU && g.Samples == w.Samples && (g.After-w.After).Abs() < time.Millisecond
	}) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCPUTimes(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(8<<20))
	_, span := newTracerProvider(s).Tracer("").Start(t.Context(), "GET /", at(0.5))
	span.SetStatus(codes.Error, "outlives the window")
	span.End(at(1.5))
	own := labels("profile_id", idOf(span), "span_id", idOf(span), "span_name", "GET /")
	ms := time.Millisecond
	export(t, s,
		inTimedWindow(0, [][]time.Duration{{5100 * ms, 5110 * ms}, {9000 * ms}, {5100 * ms}},
			sample{"main;a", 2, own}, sample{"main;b", 1, own}, sample{"main;other", 1, nil}),
		// A sample in this window has fewer times than it counts, one no time.
		inTimedWindow(1, [][]time.Duration{{4000 * ms, 2000 * ms}, nil}, sample{"main;a", 5, own}, sample{"main;c", 1, own}))
	check := func() {
		t.Helper()
		checkCPUTimes(t, cpuTimes(t, s, idOf(span), 10000),
			store.CPUTime{After: 100 * ms, CPU: tick, Samples: 1},
			store.CPUTime{After: 110 * ms, CPU: tick, Samples: 1},
			store.CPUTime{After: 4000 * ms, CPU: tick, Samples: 1},
			store.CPUTime{After: 7000 * ms, CPU: 25 * ms, Samples: 3},
			store.CPUTime{After: 9000 * ms, CPU: 25 * ms, Samples: 2})
		// With fewer parts, what is near each other is one.
		checkCPUTimes(t, cpuTimes(t, s, idOf(span), 2),
			store.CPUTime{After: 100 * ms, CPU: 3 * tick, Samples: 3},
			store.CPUTime{After: 7000 * ms, CPU: 5 * tick, Samples: 5})
		if got := cpuTimes(t, s, idOf(span), 0); got != nil {
			t.Errorf("in no part: %v", got)
		}
	}
	check()
	// They stay with what is kept of their windows.
	fillUp(t, s)
	check()
}

// TestAfterEnd has a goroutine work for a span that has ended: by itself, and inside
// another span.
func TestAfterEnd(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(8<<20))
	tracer := newTracerProvider(s).Tracer("")
	ctx, root := tracer.Start(t.Context(), "root", at(0))
	_, gone := tracer.Start(ctx, "GET /", at(0), trace.WithAttributes(attribute.String("pyroscope.profile.id", "x")))
	gone.SetStatus(codes.Error, "outlives the window")
	gone.End(at(0.01))
	root.End(at(1))
	id, rootID := idOf(gone), idOf(root)
	export(t, s, inTimedWindow(0, [][]time.Duration{{0}, {tick}, {2 * tick}, {3 * tick}},
		sample{"main;own", 1, labels("span_id", id, "profile_id", id, "span_name", "GET /")},
		sample{"main;later", 30, labels("ended_span_id", id)},
		sample{"main;nested", 5, labels("ended_span_id", id, "span_id", rootID, "profile_id", rootID, "span_name", "root")},
		sample{"main;other", 1, labels("ended_span_id", "00000000000000ff")}))

	check := func(when string) {
		t.Helper()
		span, _ := s.Span(id)
		if span.CPU != tick || span.CPUSamples != 1 || span.CPUInclusive != tick || span.SamplesHeld != 1 {
			t.Errorf("%s: %v in %d samples, %v with children", when, span.CPU, span.CPUSamples, span.CPUInclusive)
		}
		if span.CPUAfterEnd != 35*tick || span.CPUAfterEndSamples != 35 {
			t.Errorf("%s: after its end %v in %d samples, want 350 ms in 35", when, span.CPUAfterEnd, span.CPUAfterEndSamples)
		}
		sel := selectCPU(t, s, matcher(t, "ended_span_id", store.MatchEqual, id))
		if got, want := folded(sel), []string{fmt.Sprint("main;later ", int64(30*tick)), fmt.Sprint("main;nested ", int64(5*tick))}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
		if got, want := folded(selectCPU(t, s, matcher(t, "span_id", store.MatchEqual, id))), []string{fmt.Sprint("main;own ", int64(tick))}; !slices.Equal(got, want) {
			t.Errorf("%s: the span's own %v, want %v", when, got, want)
		}
	}
	check("at first")
	if span, _ := s.Span(rootID); span.CPU != 5*tick || span.CPUInclusive != 6*tick || span.CPUAfterEnd != 0 {
		t.Errorf("the span around it: %v, %v with children, %v after its end", span.CPU, span.CPUInclusive, span.CPUAfterEnd)
	}
	for _, total := range s.NameTotals() {
		if want := map[string]time.Duration{"GET /": tick, "root": 5 * tick}[total.Name]; total.CPU != want {
			t.Errorf("%s in all: %v, want %v", total.Name, total.CPU, want)
		}
	}
	// The label is in a profile with ids alone.
	for _, without := range []bool{false, true} {
		p, err := s.Profile(store.Query{Kind: exporter.KindCPU, IDs: !without})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, sample := range p.Sample {
			n += len(sample.Label["ended_span_id"])
		}
		if want := map[bool]int{false: 3, true: 0}[without]; n != want {
			t.Errorf("without ids is %v: %d samples with the label, want %d", without, n, want)
		}
	}
	// They stay for as long as the samples of a span that is kept.
	fillUp(t, s)
	check("when the window is gone")
}
