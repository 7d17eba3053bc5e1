// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// Spans that are not kept count, and their samples are there.
func TestMinDuration(t *testing.T) {
	s := newStore(t, store.WithMinDuration(step))
	tracer := newTracerProvider(s).Tracer("")
	_, fast := tracer.Start(t.Context(), "GET /", at(0))
	fast.End(at(0.9))
	_, slow := tracer.Start(t.Context(), "GET /", at(0))
	slow.End(at(1))
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(
		sample{"f", 2, labels("span_id", idOf(fast), "span_name", "GET /")},
		sample{"f", 5, labels("span_id", idOf(slow), "span_name", "GET /")},
	)))
	if got := s.Spans(store.SpanQuery{}); len(got) != 1 || got[0].ProfileID != idOf(slow) {
		t.Errorf("listed: %+v", got)
	}
	if got, ok := s.Span(idOf(fast)); !ok || got.CPUSamples != 2 || got.Name != "GET /" {
		t.Errorf("by its id: %+v", got)
	}
	if got := s.NameTotals(); len(got) != 1 || got[0].Spans != 2 || got[0].CPUSamples != 7 || got[0].MaxDuration != step {
		t.Errorf("%+v", got)
	}
	if stats := s.Stats(); stats.SpansEnded != 2 || stats.Spans != 1 || stats.SpansNotKept != 1 || stats.SpansEvicted != 0 {
		t.Errorf("%+v", stats)
	}
	const maxRows = 65536 // More than fit.
	// Those that are not kept leave the room to those that are.
	for i := range 2 * maxRows {
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i%3), at(0))
		span.End(at(0.1))
	}
	if stats := s.Stats(); stats.Spans != 1 || stats.SpansEvicted != 0 {
		t.Errorf("%+v", stats)
	}
}

// TestSampling keeps traces, not spans, and the same ones everywhere.
func TestSampling(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	one, other := newStore(t, store.WithSampling(0.25)), newStore(t, store.WithSampling(0.25))
	const n = 4000
	random := newGenerator().rand
	kept := 0
	for i := range n {
		ctx := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{15: byte(random.Uint32()), 14: byte(random.Uint32()), 13: 1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true,
		}))
		var ids [2]string
		for i, s := range []*store.Store{one, other} {
			_, span := newTracerProvider(s).Tracer("").Start(ctx, "GET /")
			span.End()
			ids[i] = span.SpanContext().TraceID().String()
		}
		a := len(one.Spans(store.SpanQuery{TraceID: ids[0], Limit: 1}))
		if b := len(other.Spans(store.SpanQuery{TraceID: ids[1], Limit: 1})); a != b {
			t.Fatalf("trace %d is kept by one store and not by the other", i)
		}
		kept += a
	}
	if kept < n/5 || kept > n*3/10 {
		t.Errorf("%d of %d are kept, want a quarter", kept, n)
	}
	if stats := one.Stats(); stats.SpansEnded != n || stats.SpansNotKept != int64(n-stats.Spans) {
		t.Errorf("%+v", stats)
	}
	for fraction, want := range map[float64]int{0: 0, 1: 1} {
		s := newStore(t, store.WithSampling(fraction))
		_, span := newTracerProvider(s).Tracer("").Start(t.Context(), "GET /")
		span.End()
		if got := len(s.Spans(store.SpanQuery{})); got != want {
			t.Errorf("fraction %v keeps %d", fraction, got)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for name, option := range map[string]store.Option{
		"WithMaxBytes":     store.WithMaxBytes(0),
		"WithMinDuration":  store.WithMinDuration(-time.Second),
		"WithSampling":     store.WithSampling(math.NaN()),
		"WithSpansPerName": store.WithSpansPerName(-1),
	} {
		if _, err := store.New(option); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, option := range []store.Option{store.WithSampling(-0.1), store.WithSampling(1.1), store.WithSpansPerName(1000 + 1)} {
		if _, err := store.New(option); err == nil {
			t.Error("no error")
		}
	}
}
