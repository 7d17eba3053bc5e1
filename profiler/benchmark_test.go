// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// BenchmarkRotate measures the end of a window, which is what a shorter window
// costs more of.
func BenchmarkRotate(b *testing.B) {
	for _, kind := range []exporter.Kind{exporter.KindCPU, exporter.KindHeap} {
		b.Run(string(kind), func(b *testing.B) {
			p, err := profiler.New(new(exportertest.Recorder), profiler.WithKinds(kind), profiler.WithWindow(endless))
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Start(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := p.Shutdown(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkStatus(b *testing.B) {
	p, err := profiler.New(new(exportertest.Recorder))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Status()
	}
}
