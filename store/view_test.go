// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// TestViewAgrees compares the answers of views while profiles and spans arrive and are evicted.
// No two answers of one view may contradict each other.
func TestViewAgrees(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(8<<20))
	tracer := newTracerProvider(s).Tracer("")
	spans, profiles, views := 40_000, 1000, 40
	if testing.Short() {
		spans, profiles, views = 20_000, 500, 10
	}
	var writers, readers sync.WaitGroup
	times := func(times int, work func(n int)) {
		writers.Go(func() {
			for n := range times {
				work(n)
			}
		})
	}
	// Spans that end meanwhile, in all lists that there are.
	times(spans, func(n int) {
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", n%40))
		if n%50 == 0 {
			span.SetStatus(codes.Error, "no")
		}
		if n%2000 != 0 {
			span.End()
		}
	})
	// Profiles with samples of spans that run, of spans that ended and of none.
	times(profiles, func(n int) {
		var spans []trace.Span
		var samples []sample
		for i := range 20 {
			name := fmt.Sprint("GET /", i)
			_, span := tracer.Start(t.Context(), name, at(float64(n)))
			if i%2 == 0 {
				span.End(at(float64(n) + 1))
			}
			spans = append(spans, span)
			samples = append(samples, sample{"main;f", int64(1 + i), labels("profile_id", idOf(span), "span_id", idOf(span), "span_name", name)})
		}
		samples = append(samples, sample{"main;g", 3, labels("profile_id", fmt.Sprint("job", n%5), "span_name", "job")}, sample{"main;h", 5, nil}, sample{fmt.Sprint("main;", n, strings.Repeat("x", 10_000)), 5, nil})
		export(t, s, inWindow(n, exporter.KindCPU, cpuProfile(samples...)), inWindow(n, exporter.KindHeap, heapProfile(5)))
		for _, span := range spans {
			span.End(at(float64(n) + 1))
		}
	})
	for range 2 {
		readers.Go(func() {
			for range views {
				if !agree(t, s) {
					return
				}
			}
		})
	}
	readers.Wait()
	writers.Wait()
	if stats := s.Stats(); stats.SpansEvicted == 0 || stats.WindowsEvicted == 0 {
		t.Errorf("%+v, want evicted spans and windows", stats)
	}
}

// agree opens a view and holds its answers against each other.
func agree(t *testing.T, s *store.Store) bool {
	view, err := s.View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Error(err)
		return false
	}
	defer view.Close()
	same := func(what string, got, want int64) {
		if got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
	list := func(q store.SpanQuery) store.SpanList {
		all, err := view.Spans(q)
		if err != nil {
			t.Error(err)
		}
		return all
	}
	selected := func(matchers ...store.Matcher) store.Samples {
		all, err := view.Samples(store.Query{Stacks: true, Kind: exporter.KindCPU, Matchers: matchers})
		if err != nil {
			t.Error(err)
			return store.Samples{}
		}
		return *all
	}

	stats := view.Info().Stats
	windows, err := view.Windows()
	if err != nil {
		t.Error(err)
	}
	same("windows", int64(len(windows)), int64(stats.Windows))
	same("windows held", int64(stats.Windows), stats.WindowsReceived-stats.WindowsEvicted)
	held := int64(0)
	for _, w := range windows {
		if w.Kind == exporter.KindCPU {
			held += w.Samples
		}
	}
	same("samples selected", selected().Samples, held)
	byName := time.Duration(0)
	for _, total := range list(store.SpanQuery{Names: true}).Names {
		byName += total.CPU
	}
	same("CPU by name", int64(byName), selected(matcher(t, "span_name", store.MatchNotEqual, "")).Total)

	spans := list(store.SpanQuery{Running: true}).Spans
	ended, running := 0, 0
	for i, span := range spans {
		if span.Running {
			running++
		} else if !span.Manual {
			ended++
		}
		// Of a thousand, some are enough.
		if i%37 != 0 || t.Failed() {
			continue
		}
		if diff := cmp.Diff([]store.Span{span}, list(store.SpanQuery{ID: span.ProfileID}).Spans); diff != "" {
			t.Errorf("span %s in the list and alone: %s", span.ProfileID, diff)
		}
		same("samples of span "+span.ProfileID, selected(matcher(t, "profile_id", store.MatchEqual, span.ProfileID)).Samples, span.SamplesHeld)
	}
	same("spans listed", int64(ended), int64(stats.Spans))
	same("running spans listed", int64(running), int64(stats.SpansRunning))
	return !t.Failed()
}

// TestViewEnds has a client that goes away.
func TestViewEnds(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	view, err := s.View(ctx, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	cancel()
	for what, ask := range map[string]func() error{
		"Spans":   func() error { _, err := view.Spans(store.SpanQuery{}); return err },
		"a span":  func() error { _, err := view.Spans(store.SpanQuery{ID: "job"}); return err },
		"names":   func() error { _, err := view.Spans(store.SpanQuery{Names: true}); return err },
		"Samples": func() error { _, err := view.Samples(store.Query{}); return err },
		"Windows": func() error { _, err := view.Windows(); return err },
	} {
		if err := ask(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", what, err, context.Canceled)
		}
	}
	if _, err := s.View(ctx, time.Time{}, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
