// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

const (
	// slice is how long the same work takes with and without the profiler,
	// in turns: the machine's speed drifts by more than what is measured,
	// the less the shorter that is.
	slice = 250 * time.Millisecond
	// window is the profiler's default, and ends how many of them are ended.
	window = 10 * time.Second
	ends   = 3
)

// printOverhead prints what the profiler, with a store behind it, adds to the CPU
// time of labelled spans: by sampling, and by the end of each window, which is
// parsed and kept.
func printOverhead(w *tabwriter.Writer, pairs int) error {
	// A service's heap. In a tiny one the megabytes of a CPU profile's buffer
	// are enough to make collections rarer, and the profiler a gain.
	ballast := make([]byte, 128<<20)
	defer runtime.KeepAlive(ballast)

	ctx := context.Background()
	kept, err := store.New()
	if err != nil {
		return err
	}
	p, err := profiler.New(kept, profiler.WithWindow(time.Hour))
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	defer p.Shutdown(ctx) //nolint:errcheck // it has nothing left to say
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("profbench")

	var onEnds []float64
	spans := 0
	for range ends {
		for begin := time.Now(); time.Since(begin) < window; spans++ {
			span(tracer)
		}
		end, err := cpuOf(func() error { return p.Flush(ctx) })
		if err != nil {
			return err
		}
		onEnds = append(onEnds, end.Seconds())
	}
	inSlice := int(float64(spans) * slice.Seconds() / (ends * window).Seconds())
	work := func() error {
		for range inSlice {
			span(tracer)
		}
		return nil
	}
	var ratios, off []float64
	for n := range pairs {
		var took [2]float64
		for i := range took {
			on := (i + n) % 2 // either goes first in turn
			change := p.Disable
			if on == 1 {
				change = p.Enable
			}
			// What the slice before has left to export or to
			// collect is not this one's.
			if err := errors.Join(change(ctx, exporter.KindCPU), p.Flush(ctx)); err != nil {
				return err
			}
			runtime.GC()
			cpu, err := cpuOf(work)
			if err != nil {
				return err
			}
			took[on] = cpu.Seconds()
		}
		off = append(off, took[0])
		ratios = append(ratios, took[1]/took[0]-1)
	}
	slices.Sort(ratios)
	slices.Sort(off)
	slices.Sort(onEnds)
	perSecond := off[pairs/2] / slice.Seconds()
	atEnd := onEnds[ends/2] / window.Seconds() / perSecond
	sampling := ratios[pairs/2]
	fmt.Fprintf(w, "added to the process CPU of labelled spans\tmedian\tquartiles\t\n")
	fmt.Fprintf(w, "sampling, %d pairs of %d spans\t%+.2f %%\t%+.2f %% to %+.2f %%\t\n", pairs, inSlice, 100*sampling, 100*ratios[pairs/4], 100*ratios[pairs*3/4])
	fmt.Fprintf(w, "end of the CPU and heap windows, parsed and stored\t%+.2f %%\t%.1f ms in %v\t\n", 100*atEnd, 1000*onEnds[ends/2], window)
	fmt.Fprintf(w, "together (goal: at most 1 %%)\t%+.2f %%\t\t\n", 100*(sampling+atEnd))
	return nil
}

// cpuOf returns the CPU time that the process takes while f runs.
func cpuOf(f func() error) (time.Duration, error) {
	before, err := cpuTime()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := cpuTime()
	return after - before, err
}

// span is a tenth of a millisecond or so of work in a span.
func span(tracer trace.Tracer) {
	_, s := tracer.Start(context.Background(), "operation")
	defer s.End()
	work(50)
}
