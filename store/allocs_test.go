// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

func TestSpanAllocates(t *testing.T) {
	p := newStore(t).SpanProcessor()
	span := localRootSpan(trace.SpanID{1})
	var rw sdktrace.ReadWriteSpan = readWriteSpan{span: span}
	// One chunk is allocated for chunkLen spans.
	if n := testing.AllocsPerRun(1000, func() {
		p.OnStart(t.Context(), rw)
		p.OnEnd(span)
	}); n > 0 {
		t.Error("allocations per span:", n)
	}
}

// Attributes are copied at once: equal ones once for all, others in two allocations.
func TestAttributesAllocate(t *testing.T) {
	for name, test := range map[string]struct {
		own  bool
		most float64
	}{"equal": {false, 0}, "own": {true, 2}} {
		p := newStore(t).SpanProcessor()
		var spans []sdktrace.ReadOnlySpan
		for i := range 2000 {
			path := "/"
			if test.own {
				path = fmt.Sprint("/", i)
			}
			spans = append(spans, spanWith(trace.SpanID{1, byte(i >> 8), byte(i)}, trace.SpanID{}, serverAttributes(path)))
		}
		i := 0
		if n := testing.AllocsPerRun(1000, func() {
			p.OnEnd(spans[i%len(spans)])
			i++
		}); n > test.most {
			t.Errorf("%s: %v allocations per span, want at most %v", name, n, test.most)
		}
	}
}

// A Select by a list of ids does not write the other ids out.
func TestListAllocates(t *testing.T) {
	const windows, listed = 10, 300
	s, ids := ofIDs(t, windows, 1000, "%016x", labelkey.ProfileID, labelkey.SpanID)
	q := store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, labelkey.ProfileID, store.MatchRegexp, strings.Join(some(ids, listed), "|"))}}
	sel, err := s.Select(q)
	if err != nil || sel.Samples != listed || sel.ProfileIDs != listed {
		t.Fatalf("%d samples of %d ids: %v", sel.Samples, sel.ProfileIDs, err)
	}
	if n := testing.AllocsPerRun(3, func() { _, _ = s.Select(q) }); n > 500 {
		t.Error("allocations of Select:", n)
	}
	if n := testing.AllocsPerRun(3, func() { _, _ = s.Timeline(q, 3) }); n > 500 {
		t.Error("allocations of Timeline:", n)
	}
}

// A list of the first exemplars does not write the others out. The next list has the same
// sums.
func TestExemplarsAllocate(t *testing.T) {
	for _, format := range []string{"%016x", "job-%016x"} {
		s, _ := ofIDs(t, 20, 1000, format, labelkey.ProfileID)
		for _, order := range []store.Order{store.Newest, store.Slowest, store.MostCPU} {
			q := store.SpanQuery{Order: order, Limit: 100}
			if n := len(s.Spans(q)); n != q.Limit {
				t.Fatalf("%d exemplars", n)
			}
			if n := testing.AllocsPerRun(3, func() { s.Spans(q) }); n > 1000 {
				t.Errorf("%s, order %d: allocations of Spans: %v", format, order, n)
			}
		}
		if n := testing.AllocsPerRun(3, func() { s.NameTotals() }); n > 1000 {
			t.Errorf("%s: allocations of NameTotals: %v", format, n)
		}
	}
}

// A store allocates nothing for a local root of the SDK.
func TestRootsAllocate(t *testing.T) {
	allocations := func(p sdktrace.SpanProcessor) float64 {
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p)).Tracer("")
		return testing.AllocsPerRun(1000, func() {
			_, span := tracer.Start(context.Background(), "GET /cart")
			span.End()
		})
	}
	bare := allocations(ignore{})
	if n := allocations(newStore(t).SpanProcessor()); n > bare {
		t.Errorf("%v allocations a span, %v without the store", n, bare)
	}
}
