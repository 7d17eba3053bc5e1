// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && !race

package store_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
)

func TestHeapOf8MiB(t *testing.T)   { testHeap(t, 8<<20, 1) }
func TestHeapOf64MiB(t *testing.T)  { testHeap(t, 64<<20, 3) }
func TestHeapOf256MiB(t *testing.T) { testHeap(t, 256<<20, 14) }

// testHeap tests that a store takes at most 1.15 times its bytes of the heap. That holds for a
// million spans of different names, routes and SQL texts, with queries between them. Each window
// has some profiles.
func testHeap(t *testing.T, maxBytes int64, profiles int) {
	t.Helper()
	const spans, perWindow = 1_000_000, 2000
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r := readRecording(t)
	before := heap()
	s := newStore(t, store.WithMaxBytes(maxBytes))
	tracer := newTracerProvider(s).Tracer("")
	most := int64(0)
	for n := range spans {
		values := trace.WithAttributes(attribute.String("http.route", fmt.Sprint("/orders/", n)),
			attribute.String("db.query.text", fmt.Sprintf("SELECT c%d FROM orders_%d WHERE id = 5", n, n)))
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", n), values, at(float64(n)/perWindow).(trace.SpanStartOption))
		span.End(at(float64(n)/perWindow + 0.1).(trace.SpanEndOption))
		if n%perWindow == perWindow-1 {
			for range profiles {
				export(t, s, r.replay(n/perWindow))
			}
		}
		if n%(spans/4) == spans/4-1 {
			s.Spans(store.SpanQuery{})
			most = max(most, heap()-before)
		}
	}
	stats := s.Stats()
	t.Logf("%d MiB: heap %.3f, counted %.3f, RSS of the test %d MiB, %d spans and %d windows held, %d dropped", maxBytes>>20,
		float64(most)/float64(maxBytes), float64(stats.Bytes)/float64(maxBytes), rss(t)>>20, stats.Spans, stats.Windows, stats.SpansDropped)
	if most > maxBytes*115/100 || stats.Bytes > maxBytes || stats.SpansEnded+stats.SpansDropped != spans {
		t.Errorf("%d bytes on the heap, want at most 1.15 of %d: %+v", most, maxBytes, stats)
	}
	runtime.KeepAlive(s)
}

// rss returns the memory of this process, 0 where /proc is missing.
func rss(t *testing.T) (bytes int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		t.Error(err)
	}
	return resident * int64(os.Getpagesize())
}
