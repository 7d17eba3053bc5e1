// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// TestQueriesDoNotBlock records spans and takes profiles in from the midst of
// queries: where these held a lock, that would never end.
func TestQueriesDoNotBlock(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	record := func() {
		_, span := tracer.Start(t.Context(), "GET /")
		span.End()
		id := idOf(span)
		export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"f", 1, labels("span_id", id)}, sample{"g", 1, labels("profile_id", "job")})))
		s.EvictOldest()
	}
	for range 300 {
		record()
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"f", 1, nil})), inWindow(1, exporter.KindCPU, cpuProfile(sample{"f", 1, nil})))
	// What it found is there, though the store has let it go.
	looked, counts := s.Visit(store.Query{}, record)
	if looked != 2 || !slices.Equal(counts, []int64{1, 1}) {
		t.Errorf("got %d windows and %v samples, want 2 and 1 each", looked, counts)
	}
}

// BenchmarkSpanWhileQueried is BenchmarkSpan while the spans of a full store are
// listed again and again, on another processor.
func BenchmarkSpanWhileQueried(b *testing.B) {
	s := newStore(b)
	p, ctx := s.SpanProcessor(), b.Context()
	for i := range 80000 {
		p.OnEnd(localRootSpan([8]byte{1, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	span := localRootSpan([8]byte{2})
	rw := readWriteSpan{span: span}
	done := make(chan struct{})
	var queries sync.WaitGroup
	count := 0
	queries.Go(func() {
		for {
			s.Spans(store.SpanQuery{Order: store.MostCPU, Limit: 100})
			count++
			select {
			case <-done:
				return
			default:
			}
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		p.OnStart(ctx, rw)
		p.OnEnd(span)
	}
	close(done)
	queries.Wait()
	b.ReportMetric(float64(count)/b.Elapsed().Seconds(), "queries/s")
}
