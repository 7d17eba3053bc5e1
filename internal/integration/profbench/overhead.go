// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

// printOverhead compares the CPU time of the same work, in labelled spans, with
// and without the profiler and its store, in rounds that take turns: the
// machine's speed drifts by more than what is measured.
func printOverhead(w *tabwriter.Writer, pairs int, round time.Duration) error {
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	tracer := tp.Tracer("profbench")
	begin, spans := time.Now(), 0
	for ; time.Since(begin) < round/4; spans++ {
		span(tracer)
	}
	spans *= 4
	fmt.Fprintf(w, "process CPU of %d spans with CPU and allocations\toff, s\ton, s\ton/off\t\n", spans)
	var ratios []float64
	for n := range pairs {
		var took [2]time.Duration
		for i := range took {
			on := (i + n) % 2 // either goes first in turn
			cpu, err := measure(tp, tracer, spans, on == 1)
			if err != nil {
				return err
			}
			took[on] = cpu
		}
		ratio := took[1].Seconds() / took[0].Seconds()
		ratios = append(ratios, ratio)
		fmt.Fprintf(w, "pair %d\t%.3f\t%.3f\t%.4f\t\n", n+1, took[0].Seconds(), took[1].Seconds(), ratio)
	}
	slices.Sort(ratios)
	fmt.Fprintf(w, "median (goal: at most 1.01)\t\t\t%.4f\t\n", ratios[len(ratios)/2])
	return nil
}

func measure(tp *spanprof.TracerProvider, tracer trace.Tracer, spans int, on bool) (time.Duration, error) {
	before, err := cpuTime()
	if err != nil {
		return 0, err
	}
	if on {
		p, err := inprocess.Start(tp)
		if err != nil {
			return 0, err
		}
		defer p.Shutdown(context.Background()) //nolint:errcheck // it has been shut down below
		for range spans {
			span(tracer)
		}
		if err := p.Shutdown(context.Background()); err != nil {
			return 0, err
		}
	} else {
		for range spans {
			span(tracer)
		}
	}
	after, err := cpuTime()
	return after - before, err
}

// span is a millisecond or so of work in a span.
func span(tracer trace.Tracer) {
	_, s := tracer.Start(context.Background(), "operation")
	defer s.End()
	work(50)
}
