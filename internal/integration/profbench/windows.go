// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// printWindows measures the end of one window of each kind, and its size.
func printWindows(w *tabwriter.Writer) error {
	fmt.Fprintln(w, "end of one window\ttime\tallocations\tallocated\tprofile\t")
	for _, test := range []struct {
		kind       exporter.Kind
		goroutines int
	}{
		{exporter.KindCPU, 0},
		{exporter.KindHeap, 0},
		{exporter.KindMutex, 0},
		{exporter.KindBlock, 0},
		{exporter.KindGoroutine, 100},
		{exporter.KindGoroutine, 1000},
		{exporter.KindGoroutine, 10000},
	} {
		if err := printWindow(w, test.kind, test.goroutines); err != nil {
			return err
		}
	}
	return nil
}

func printWindow(w *tabwriter.Writer, k exporter.Kind, goroutines int) error {
	rec := new(newest)
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	p, err := profiler.New(rec, profiler.WithKinds(k), profiler.WithWindow(time.Hour))
	if err != nil {
		return err
	}
	release := make(chan struct{})
	var waiting sync.WaitGroup
	for range goroutines {
		waiting.Go(func() { <-release })
	}
	contend()
	runtime.GC()
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if err := p.Flush(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
	close(release)
	waiting.Wait()
	if err := p.Shutdown(context.Background()); err != nil {
		return err
	}
	name := string(k)
	if goroutines > 0 {
		name = fmt.Sprintf("%s, %d of them", k, goroutines)
	}
	fmt.Fprintf(w, "%s\t%.2f ms\t%d\t%.0f kB\t%.1f kB\t\n", name, float64(result.NsPerOp())/1e6, result.AllocsPerOp(),
		float64(result.AllocedBytesPerOp())/1e3, float64(rec.largest)/1e3)
	return nil
}

// contend makes some entries for mutex and block profiles.
func contend() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				runtime.Gosched()
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

var _ exporter.Exporter = (*newest)(nil)

// newest is an exporter that keeps no profile, only the largest size.
type newest struct {
	exportertest.Recorder

	largest int
}

func (n *newest) Export(_ context.Context, p *exporter.Profile) error {
	b, err := p.Pprof()
	n.largest = max(n.largest, len(b))
	return err
}
