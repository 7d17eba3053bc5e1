// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

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
	var errs []error
	fail := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	same := func(what string, got, want int64) {
		if got != want {
			errs = append(errs, fmt.Errorf("%s: got %d, want %d", what, got, want))
		}
	}
	cpu := store.Query{Kind: exporter.KindCPU, Stacks: true}

	stats := view.Info().Stats
	windows, err := view.Windows()
	fail(err)
	same("windows", int64(len(windows)), int64(stats.Windows))
	same("windows held", int64(stats.Windows), stats.WindowsReceived-stats.WindowsEvicted)
	held := int64(0)
	for _, w := range windows {
		if w.Kind == exporter.KindCPU {
			held += w.Samples
		}
	}
	kinds, err := view.Samples(store.Query{})
	fail(err)
	for _, k := range kinds.Sums {
		if k.Kind == exporter.KindCPU {
			same("kinds[cpu]", k.Samples, held)
		}
	}

	selection, err := view.Samples(cpu)
	fail(err)
	same("samples selected", selection.Samples, held)
	p, err := view.Samples(store.Query{Kind: exporter.KindCPU, Pprof: true})
	fail(err)
	inProfile := int64(0)
	for _, sample := range p.Profile.Sample {
		inProfile += sample.Value[0]
	}
	same("samples in the profile", inProfile, held)
	steps, err := view.Samples(store.Query{Kind: exporter.KindCPU, Labels: []string{"span_name"}, Steps: true})
	fail(err)
	overTime := int64(0)
	for _, s := range steps.Sums {
		overTime += s.Value
	}
	same("CPU over time", overTime, selection.Total)

	named, err := view.Samples(store.Query{Stacks: true, Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "span_name", store.MatchNotEqual, "")}})
	fail(err)
	totals, err := view.Spans(store.SpanQuery{Names: true})
	fail(err)
	byName, ended := time.Duration(0), 0
	for _, total := range totals.Names {
		byName += total.CPU
		if total.Name != "job" {
			ended += total.Spans
		}
	}
	same("CPU by name", int64(byName), named.Total)

	spans, err := view.Spans(store.SpanQuery{Running: true})
	fail(err)
	counted := map[string]int64{}
	for _, span := range spans.Spans {
		switch {
		case span.Manual:
			counted["manual"]++
		case span.Running:
			counted["running"]++
		default:
			counted["ended"]++
		}
	}
	same("spans listed", counted["ended"], int64(stats.Spans))
	same("running spans listed", counted["running"], int64(stats.SpansRunning))
	// The list may have come from another moment than what follows it.
	again, err := view.Spans(store.SpanQuery{Running: true})
	fail(err)
	same("spans listed again", int64(len(again.Spans)), int64(len(spans.Spans)))
	for i, span := range spans.Spans {
		// Of a thousand, some are enough.
		if i%37 != 0 {
			continue
		}
		list, err := view.Spans(store.SpanQuery{ID: span.ProfileID})
		fail(err)
		if len(list.Spans) != 1 {
			errs = append(errs, fmt.Errorf("span %s is listed, but not found", span.ProfileID))
			continue
		}
		found := list.Spans[0]
		if !reflect.DeepEqual(found, span) {
			errs = append(errs, fmt.Errorf("span %s: got %+v, listed %+v", span.ProfileID, found, span))
		}
		sel, err := view.Samples(store.Query{Stacks: true, Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "profile_id", store.MatchEqual, span.ProfileID)}})
		fail(err)
		same("samples of span "+span.ProfileID, sel.Samples, found.SamplesHeld)
	}
	for _, err := range errs[:min(len(errs), 3)] {
		t.Error(err)
	}
	return len(errs) == 0
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
