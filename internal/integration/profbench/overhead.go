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
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profiler"
)

// setups are what may be added to the same work in labelled spans. Each is
// started before a round and shut down, in its time, after it.
var setups = []struct {
	name  string
	start func(tp *spanprof.TracerProvider) (shutdown func(context.Context) error, err error)
}{
	{"off", func(*spanprof.TracerProvider) (func(context.Context) error, error) {
		return func(context.Context) error { return nil }, nil
	}},
	{"cpu", func(*spanprof.TracerProvider) (func(context.Context) error, error) {
		p, err := profiler.New(new(newest), profiler.WithKinds(exporter.KindCPU))
		if err != nil {
			return nil, err
		}
		return p.Shutdown, p.Start()
	}},
	{"cpu, heap, store", func(*spanprof.TracerProvider) (func(context.Context) error, error) {
		p, err := inprocess.Start(nil)
		if err != nil {
			return nil, err
		}
		return p.Shutdown, nil
	}},
	{"and the spans in the store", func(tp *spanprof.TracerProvider) (func(context.Context) error, error) {
		p, err := inprocess.Start(tp)
		if err != nil {
			return nil, err
		}
		return p.Shutdown, nil
	}},
}

// printOverhead compares the CPU time that the process takes for the same work
// with different setups. They take turns: the machine's speed drifts by more than
// what is measured.
func printOverhead(w *tabwriter.Writer, rounds int, round time.Duration) error {
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	tracer := tp.Tracer("profbench")
	begin, spans := time.Now(), 0
	for ; time.Since(begin) < round/4; spans++ {
		span(tracer)
	}
	spans *= 4
	ratios := make([][]float64, len(setups))
	took := make([][]float64, len(setups))
	for n := range rounds {
		for i := range setups {
			i = (i + n) % len(setups) // each goes first in turn
			cpu, err := measure(tp, tracer, spans, i)
			if err != nil {
				return fmt.Errorf("%s: %w", setups[i].name, err)
			}
			took[i] = append(took[i], cpu.Seconds())
		}
		for i := range setups {
			ratios[i] = append(ratios[i], took[i][n]/took[0][n])
		}
	}
	fmt.Fprintf(w, "process CPU of %d spans with CPU and allocations\tmedian, s\tratio: least\tmedian\tmost\t\n", spans)
	for i, s := range setups {
		slices.Sort(took[i])
		slices.Sort(ratios[i])
		fmt.Fprintf(w, "%s\t%.3f\t%.4f\t%.4f\t%.4f\t\n", s.name, took[i][rounds/2], ratios[i][0], ratios[i][rounds/2], ratios[i][rounds-1])
	}
	return nil
}

func measure(tp *spanprof.TracerProvider, tracer trace.Tracer, spans, setup int) (time.Duration, error) {
	before, err := cpuTime()
	if err != nil {
		return 0, err
	}
	shutdown, err := setups[setup].start(tp)
	if err != nil {
		return 0, err
	}
	for range spans {
		span(tracer)
	}
	if err := shutdown(context.Background()); err != nil {
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
