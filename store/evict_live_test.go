// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package store_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
)

// TestBytesAreHonest compares the bytes that the store counts with the heap.
func TestBytesAreHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	const maxBytes = 4 << 20
	r := readRecording(t)
	window := exporter.Window{Kind: exporter.KindCPU, Start: epoch, Duration: step, Resource: checkout}
	before := heapBytes()
	s := newStore(t, store.WithMaxBytes(maxBytes))
	tracer := newTracerProvider(s).Tracer("")
	windows := 0
	fill := func() (grown, counted int64) {
		for range 35 {
			// From bytes, so that all that is kept of them shows.
			b, err := r.replay(windows, window, nil).Pprof()
			if err != nil {
				t.Fatal(err)
			}
			export(t, s, r.timed(exporter.NewProfile(window, b)))
			windows++
			for range 500 {
				_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", windows))
				span.End()
			}
		}
		return heapBytes() - before, s.Stats().Bytes
	}
	for i := range 3 {
		got, counted := fill()
		evicted := s.Stats().WindowsEvicted
		t.Logf("%d windows, %d evicted: heap %d, counted %d", windows, evicted, got, counted)
		if counted > maxBytes {
			t.Errorf("counted %d of at most %d bytes", counted, maxBytes)
		}
		if i == 2 && evicted == 0 {
			t.Error("nothing was evicted")
		}
		if got < counted*85/100 || got > counted*115/100 {
			t.Errorf("counted %d bytes, the heap grew by %d", counted, got)
		}
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(s)
}

// TestHeapIsHonest is TestBytesAreHonest for heap profiles, which have different values.
func TestHeapIsHonest(t *testing.T) {
	before := heapBytes()
	s := newStore(t, store.WithMaxBytes(4<<20))
	for n := 0; s.Stats().WindowsEvicted < 5; n++ {
		export(t, s, inWindow(n, exporter.KindHeap, heapProfile(1300)))
	}
	grown, counted := heapBytes()-before, s.Stats().Bytes
	t.Logf("counted %d KiB, heap %d KiB (%+d %%)", counted>>10, grown>>10, 100*(grown-counted)/counted)
	if grown < counted*85/100 || grown > counted*115/100 {
		t.Errorf("counted %d bytes, the heap grew by %d", counted, grown)
	}
	runtime.KeepAlive(s)
}

// TestTextsAreHonest compares the bytes counted with the heap for texts that
// outlive what they came in.
func TestTextsAreHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	const maxBytes = 16 << 20
	unique := func(n, i int) string { return fmt.Sprintf("q%07d", i) + strings.Repeat("x", n-8) }
	resourceOf := func(service string) *resource.Resource {
		return resource.NewSchemaless(attribute.String("service.name", service))
	}
	// exportLabels puts each id into a sample, with a long label of its own.
	exportLabels := func(t *testing.T, s *store.Store, id func(i int) string) {
		for w := range 50 {
			var samples []sample
			for i := range 100 {
				samples = append(samples, sample{"f", 1, labels("span_id", id(w*100+i), "span_name", unique(8192, w*100+i))})
			}
			export(t, s, inWindow(w, exporter.KindCPU, cpuProfile(samples...)))
		}
	}
	for name, fill := range map[string]func(*testing.T, *store.Store){
		"services of spans": func(t *testing.T, s *store.Store) {
			for i := range 5000 {
				tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithResource(resourceOf(unique(4096, i))))
				_, span := tp.Tracer("").Start(t.Context(), "GET /")
				span.End()
			}
		},
		"attributes": func(t *testing.T, s *store.Store) {
			tracer := newTracerProvider(s).Tracer("")
			for i := range 30000 {
				ctx, span := tracer.Start(t.Context(), "GET /")
				_, child := tracer.Start(ctx, "query")
				child.SetAttributes(attribute.String("db.query.text", unique(700, i)))
				child.End()
				span.SetAttributes(attribute.String("url.path", unique(300, i)))
				if i%10 > 0 { // The others never end, and have what came from their children.
					span.End()
				}
			}
		},
		"services of windows": func(t *testing.T, s *store.Store) {
			for i := range 5000 {
				p := cpuProfile(sample{"f", 1, labels("span_id", fmt.Sprintf("%016x", i+1), "span_name", "GET /")})
				window := exporter.Window{Kind: exporter.KindCPU, Start: epoch, Duration: step, Resource: resourceOf(unique(4096, i))}
				export(t, s, exporter.NewParsedProfile(window, p))
			}
		},
		"labels of spans": func(t *testing.T, s *store.Store) {
			tracer := newTracerProvider(s).Tracer("")
			exportLabels(t, s, func(int) string {
				_, span := tracer.Start(t.Context(), "GET /")
				span.End()
				return idOf(span)
			})
		},
		"labels of spans without a record": func(t *testing.T, s *store.Store) {
			exportLabels(t, s, func(i int) string { return fmt.Sprintf("%016x", i+1) })
		},
		"names of spans": func(t *testing.T, s *store.Store) {
			tracer := newTracerProvider(s).Tracer("")
			for i := range 50000 {
				_, span := tracer.Start(t.Context(), unique(20, i))
				span.End()
			}
		},
		"spans that never end": func(t *testing.T, s *store.Store) {
			tracer := newTracerProvider(s).Tracer("")
			for i := range 25000 {
				tracer.Start(t.Context(), unique(100, i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := heapBytes()
			s := newStore(t, store.WithMaxBytes(maxBytes))
			fill(t, s)
			grown, counted := heapBytes()-before, s.Stats().Bytes
			t.Logf("counted %d KiB, heap %d KiB (%+d %%)", counted>>10, grown>>10, 100*(grown-counted)/counted)
			if grown < counted*85/100 || grown > counted*115/100 {
				t.Errorf("counted %d bytes, the heap grew by %d", counted, grown)
			}
			if counted > maxBytes {
				t.Errorf("counted %d of at most %d bytes", counted, maxBytes)
			}
			if bytes := s.Look().Spans; bytes > maxBytes/4 {
				t.Errorf("spans take %d of %d bytes", bytes, maxBytes)
			}
			if stats := s.Stats(); stats.SpansEnded > 0 && stats.Spans < 1000 {
				t.Errorf("texts leave room to %d spans of %d", stats.Spans, stats.SpansEnded)
			}
			runtime.KeepAlive(s)
		})
	}
}

func heapBytes() int64 {
	var m runtime.MemStats
	// The second collection frees what finalizers and pools held.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A full window evicts thousands of idle ones without a copy of the list for each:
// what is allocated stays in proportion to what goes.
func TestEvictionOfIdleWindows(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(4<<20))
	n := 0
	for ; s.Stats().WindowsEvicted == 0; n++ {
		export(t, s, inWindow(n, exporter.KindCPU, cpuProfile()))
	}
	g := newGenerator()
	p := inWindow(n, exporter.KindCPU, g.profile(5000))
	before := s.Stats().WindowsEvicted
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	export(t, s, p)
	runtime.ReadMemStats(&to)
	evicted := s.Stats().WindowsEvicted - before
	if evicted < 500 {
		t.Fatalf("%d windows made room, want more", evicted)
	}
	empty := newStore(t, store.WithMaxBytes(4<<20))
	p = inWindow(n, exporter.KindCPU, newGenerator().profile(5000))
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	export(t, empty, p)
	runtime.ReadMemStats(&end)
	alone, more := end.TotalAlloc-start.TotalAlloc, to.TotalAlloc-from.TotalAlloc
	if most := alone + uint64(evicted)*1000; more > most {
		t.Errorf("%d bytes were allocated for %d windows to go, want %d at most", more, evicted, most)
	}
}
