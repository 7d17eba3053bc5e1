// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// BenchmarkDirectory tells what a window of a recorded HTTP service with 100 spans costs on
// disk, in time and bytes, beside what taking it in costs, and what the next start takes to
// read 15 of them.
func BenchmarkDirectory(b *testing.B) {
	r := readRecording(b)
	windows := make([]*exporter.Profile, 15)
	for i := range windows {
		windows[i] = r.replay(i, exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(i) * step), Duration: step, Resource: checkout}, nil)
	}
	fill := func(s *store.Store, n int) {
		for range 100 {
			endSpan(s, "GET /", float64(n)+0.1, float64(n)+0.2, nil)
		}
		export(b, s, windows[n%len(windows)])
		if err := s.ForceFlush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("write", func(b *testing.B) {
		s := newStore(b, store.WithDirectory(b.TempDir(), 1<<30))
		n := 0
		for b.Loop() {
			fill(s, n%len(windows))
			n++
		}
		if err := s.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.Stats().Directory.Bytes)/float64(n), "B/window")
	})
	b.Run("memory alone", func(b *testing.B) {
		s := newStore(b)
		n := 0
		for b.Loop() {
			fill(s, n%len(windows))
			n++
		}
	})
	b.Run("read", func(b *testing.B) {
		dir := b.TempDir()
		first := newStore(b, store.WithDirectory(dir, 1<<30))
		for n := range windows {
			fill(first, n)
		}
		if err := first.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			s := newStore(b, store.WithDirectory(dir, 1<<30))
			s.Restored()
			if d := s.Stats().Directory; d.Windows != len(windows) {
				b.Fatalf("%d windows", d.Windows)
			}
			if err := s.Shutdown(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
