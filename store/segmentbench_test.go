// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/segment"
)

func heapAlloc() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkSegments compares a store and a room of segments: the cost of a row of the
// recorded service, and its memory as it is counted and on the heap.
func BenchmarkSegments(b *testing.B) {
	r := readRecording(b)
	const windows = 720 // two hours
	for _, timed := range []bool{false, true} {
		replay := func(i int) *exporter.Profile {
			p := r.replay(i, exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(i) * step), Duration: step, Resource: checkout}, nil)
			if timed {
				p = r.timed(p)
			}
			return p
		}
		run := func(name string, open func() (export func(*exporter.Profile) error, bytes func() int64, query func())) {
			b.Run(fmt.Sprintf("times=%t/%s", timed, name), func(b *testing.B) {
				for b.Loop() {
					before := heapAlloc()
					export, bytes, query := open()
					var took time.Duration
					rows := 0
					for i := range windows {
						p := replay(i)
						parsed, _ := p.Parsed()
						rows += len(parsed.Sample)
						start := time.Now()
						if err := export(p); err != nil {
							b.Fatal(err)
						}
						took += time.Since(start)
					}
					heap := heapAlloc() - before
					b.ReportMetric(float64(took.Nanoseconds())/float64(rows), "ns/row")
					b.ReportMetric(float64(bytes())/float64(rows), "counted-B/row")
					b.ReportMetric(float64(heap)/float64(rows), "heap-B/row")
					start := time.Now()
					query()
					b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(rows), "query-ns/row")
					b.ReportMetric(float64(rows), "rows")
				}
			})
		}
		run("old", func() (func(*exporter.Profile) error, func() int64, func()) {
			s := newStore(b)
			return func(p *exporter.Profile) error { return s.Export(context.Background(), p) }, func() int64 { return s.Stats().Bytes },
				func() { _, _ = s.Select(store.Query{Kind: exporter.KindCPU}) }
		})
		run("new", func() (func(*exporter.Profile) error, func() int64, func()) {
			s := segment.NewRoom(64<<20, nil)
			return s.Export, s.Bytes, func() {
				if a, err := s.View().Samples(context.Background(), &segment.Query{Kind: exporter.KindCPU, Stacks: true}); err != nil || a.Total == 0 {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("spans", func(b *testing.B) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			before := heapAlloc()
			s := segment.NewRoom(64<<20, nil)
			const n = 10_000
			for i := range n {
				s.End(segment.Ended{ID: ident.Key(rnd.Uint64()), Name: fmt.Sprintf("GET /%d", i%60), Service: "checkout", Start: epoch.UnixNano() + int64(i)*1e6, Duration: rnd.Int64N(1e9), LocalRoot: true})
			}
			b.ReportMetric(float64(s.Bytes())/n, "counted-B/span")
			b.ReportMetric(float64(heapAlloc()-before)/n, "heap-B/span")
			runtime.KeepAlive(s)
		}
	})
}

// BenchmarkIntake compares the cost of a span with the old processor, with the intake of
// segments, and without either. Compare one goroutine and two with -cpu 1,2.
func BenchmarkIntake(b *testing.B) {
	for _, name := range []string{"none", "old", "new"} {
		b.Run(name, func(b *testing.B) {
			var opts []sdktrace.TracerProviderOption
			switch name {
			case "none":
				opts = append(opts, sdktrace.WithSpanProcessor(nothing{}))
			case "old":
				opts = append(opts, sdktrace.WithSpanProcessor(newStore(b).SpanProcessor()))
			case "new":
				i := segment.NewIntake(segment.NewRoom(64<<20, attributes.NewKeys(nil)), 1, func(bool) bool { return false })
				opts = append(opts, sdktrace.WithSpanProcessor(i))
				defer func() { b.ReportMetric(float64(i.Dropped()), "dropped") }()
			}
			tracer := sdktrace.NewTracerProvider(opts...).Tracer("")
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, s := tracer.Start(context.Background(), "GET /")
					s.End()
				}
			})
		})
	}
}

type nothing struct{}

func (nothing) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (nothing) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (nothing) Shutdown(context.Context) error                  { return nil }
func (nothing) ForceFlush(context.Context) error                { return nil }
