// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"text/tabwriter"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

const (
	// slice is how long the same work takes with and without the profiler:
	// the machine's speed drifts by more than what is measured, the less the
	// shorter that is.
	slice = 50 * time.Millisecond
	// window is the profiler's default.
	window = 10 * time.Second
)

// printOverhead prints what the profiler, with a store behind it, adds to the CPU
// time of labelled spans: by sampling, and by the end of each window, which is
// made a profile, parsed and kept.
//
// Samples are measured by the same work without, with, with and without them, again
// and again: what grows or shrinks evenly meanwhile cancels. Each time there is one without any.
// Its figure should be zero: the rest is an error of the method. The collector is off meanwhile
// and runs in between: one of its rounds costs more than the samples.
func printOverhead(w *tabwriter.Writer, quads, ends int) error {
	// A service's heap.
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
	defer p.Shutdown(ctx) //nolint:errcheck // it has nothing left to say
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("profbench")

	var atEnds []float64
	spans := 0
	begun, err := cpuTime()
	if err != nil {
		return err
	}
	for range ends {
		for begin := time.Now(); time.Since(begin) < window; spans++ {
			span(tracer)
		}
		end, err := cpuOf(func() error {
			defer time.Sleep(settle)
			return p.Flush(ctx)
		})
		if err != nil {
			return err
		}
		atEnds = append(atEnds, end.Seconds())
	}
	done, err := cpuTime()
	if err != nil {
		return err
	}
	busy := (done - begun).Seconds() / float64(ends) // in a window

	inSlice := int(float64(spans) * slice.Seconds() / (float64(ends) * window.Seconds()))
	work := func() error {
		for range inSlice {
			span(tracer)
		}
		return nil
	}
	if err := p.Shutdown(ctx); err != nil {
		return err
	}
	q := &profiled{work: work}
	var sampling, nothing []float64
	for range quads {
		for _, on := range []bool{true, false} {
			ratio, err := q.measure(ctx, on)
			if err != nil {
				return err
			}
			if on {
				sampling = append(sampling, ratio)
			} else {
				nothing = append(nothing, ratio)
			}
		}
	}
	// To what there would be at 100 Hz.
	rate := float64(q.samples) / q.busy.Seconds()
	scale := 100 * 100 / rate

	fmt.Fprintf(w, "added to the process CPU of labelled spans\t\t95 %% interval\t\t\n")
	fmt.Fprintf(w, "nothing: what the method does not see\t%s\t%d times 4 x %d spans\t\n", estimateOf(nothing).scale(scale).columns("%+.2f", " %"), quads, inSlice)
	bySampling := estimateOf(sampling).scale(scale)
	fmt.Fprintf(w, "100 samples a second\t%s\tmeasured at %.0f a second\t\n", bySampling.columns("%+.2f", " %"), rate)
	fmt.Fprintf(w, "each of them\t%s\t\t\n", bySampling.scale(100).columns("%+.1f", " us"))
	atEnd := estimateOf(atEnds)
	byEnds := atEnd.scale(100 / busy)
	fmt.Fprintf(w, "ends of the CPU and heap windows, parsed and stored\t%s\t%.1f ms in %v\t\n", byEnds.columns("%+.2f", " %"), 1000*atEnd.value, window)
	fmt.Fprintf(w, "together (goal: at most 1 %%)\t%s\t\t\n", bySampling.add(byEnds).columns("%+.2f", " %"))
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
