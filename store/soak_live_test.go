// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package store_test

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

var soak = flag.Duration("soak", 3*time.Second, "how long TestSoak takes: 2m fills a store of 64 MiB")

// TestSoak records 1,000 spans a second; one in ten fails with a long text of its own.
// With them come CPU profiles with samples of the newest spans, and a heap profile each.
// The store is full at half of the time. With less time the store is smaller; below its
// minimum, the rates are higher. The long form, with 64 MiB, is
//
//	go test -tags live -race ./store -run TestSoak -soak 2m -v
func TestSoak(t *testing.T) {
	const (
		spansPerSecond = 1000
		ticksPerSecond = 100
		// windowSize is about what a window of the recording takes.
		windowSize = 36 << 10
	)
	natural := soak.Seconds() / 120 * (64 << 20)
	maxBytes := max(6<<20, natural)
	ticks := int(soak.Seconds() * ticksPerSecond)
	spans := int(soak.Seconds() * spansPerSecond * maxBytes / natural)
	windows := int(maxBytes * 3 / 4 / windowSize * 1.8)

	recording, heap := readRecording(t), heapProfile(1000)
	before := heapBytes()
	s := newStore(t, store.WithMaxBytes(int64(maxBytes)))
	tracer := newTracerProvider(s).Tracer("")
	ticker := time.NewTicker(time.Second / ticksPerSecond)
	defer ticker.Stop()
	// Profiles come from a goroutine of their own, as a profiler's do. It is one profile behind
	// at most: otherwise their spans could be evicted first on a busy machine.
	var exports sync.WaitGroup
	jobs := make(chan func())
	defer close(jobs)
	go func() {
		for job := range jobs {
			job()
			exports.Done()
		}
	}()
	start := time.Now()
	var ended, exported int
	var full int64
	var ids []string
	for i := 1; i <= ticks; i++ {
		<-ticker.C
		for ; ended < spans*i/ticks; ended++ {
			ctx, span := tracer.Start(t.Context(), fmt.Sprintf("GET /%d", ended%60))
			span.SetAttributes(attribute.String("url.path", fmt.Sprint("/", ended)), attribute.String("http.route", fmt.Sprintf("/%d", ended%60)))
			if ended%3 == 0 {
				_, child := tracer.Start(ctx, "query")
				child.SetAttributes(attribute.String("db.query.text", fmt.Sprint("SELECT q", ended%1000)))
				child.End()
			}
			if ended%10 == 0 {
				span.SetStatus(codes.Error, fmt.Sprintf("item %0700d: out of stock", ended))
			}
			span.End()
			ids = append(ids, idOf(span))
		}
		for ; exported < windows*i/ticks; exported++ {
			window := exporter.Window{Kind: exporter.KindCPU, Start: time.Now(), Duration: time.Second, Resource: checkout}
			number, newest := exported, ids
			ids = nil
			exports.Add(1)
			jobs <- func() {
				cpu := recording.replay(number, window, newest)
				window.Kind = exporter.KindHeap
				for _, p := range []*exporter.Profile{cpu, exporter.NewParsedProfile(window, heap)} {
					if err := s.Export(t.Context(), p); err != nil {
						t.Error(err)
					}
				}
			}
		}
		if i%(ticks/10) != 0 {
			continue
		}
		exports.Wait()
		stats := s.Stats()
		grown := heapBytes() - before
		t.Logf("%3d %%: %d spans (%d evicted), %d windows (%d evicted), counted %d KiB of %d, heap %d KiB (%+.1f %%), %.0f spans a second", i*100/ticks,
			stats.Spans, stats.SpansEvicted, stats.Windows, stats.WindowsEvicted, stats.Bytes>>10, stats.MaxBytes>>10, grown>>10, 100*float64(grown-stats.Bytes)/float64(stats.Bytes), float64(ended)/time.Since(start).Seconds())
		if stats.Bytes > stats.MaxBytes {
			t.Errorf("counted %d bytes of %d", stats.Bytes, stats.MaxBytes)
		}
		if grown < stats.Bytes*85/100 || grown > stats.Bytes*115/100 {
			t.Errorf("counted %d bytes, the heap grew by %d", stats.Bytes, grown)
		}
		if i >= ticks*7/10 {
			// A record with its index entry and its texts takes 170 bytes. Records have
			// three quarters of the spans' bytes.
			rows := int(stats.MaxBytes / 4 * 15 / 16 * 3 / 4 / 170)
			if errors := len(s.Spans(store.SpanQuery{OnlyErrors: true})); stats.Spans-errors < rows/2 || errors < 100 {
				t.Errorf("%d newest spans and %d with errors are left of %d", stats.Spans-errors, errors, stats.Spans)
			}
			heap := int64(0)
			for _, w := range s.Windows(store.WindowQuery{Kind: exporter.KindHeap}) {
				heap += w.Bytes
			}
			if heap > stats.MaxBytes*3/4/4 {
				t.Errorf("heap takes %d bytes of %d", heap, stats.MaxBytes)
			}
		}
		switch {
		case i < ticks*7/10:
		case full == 0:
			full = grown
			if stats.WindowsEvicted == 0 || stats.SpansEvicted == 0 {
				t.Errorf("not full: %+v", stats)
			}
		case grown > full*105/100:
			t.Errorf("grew from %d to %d bytes when it was full", full, grown)
		}
	}
}
