// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"sync"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// measured is the length of one measurement: three windows.
const measured = 3 * window

// ways are ways to profile a load. The runtime and the timers of threads lose samples too, so
// the others are compared with the first: one profile without an end in between.
var ways = []struct {
	name string
	run  func(ctx context.Context, work func(context.Context)) ([]*exporter.Profile, error)
}{
	{"one profile of runtime/pprof", func(ctx context.Context, work func(context.Context)) ([]*exporter.Profile, error) {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			return nil, err
		}
		work(ctx)
		pprof.StopCPUProfile()
		return []*exporter.Profile{exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, b.Bytes())}, nil
	}},
	{"windows of 10 s", func(ctx context.Context, work func(context.Context)) ([]*exporter.Profile, error) {
		return windows(ctx, work)
	}},
	{"windows of 10 s, scraped for 7 s and 14 s", func(ctx context.Context, work func(context.Context)) ([]*exporter.Profile, error) {
		return windows(ctx, work, 7*time.Second, 14*time.Second)
	}},
}

// windows profiles work by a Profiler, while scrapers fetch profiles of such lengths.
func windows(ctx context.Context, work func(context.Context), scrapes ...time.Duration) ([]*exporter.Profile, error) {
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(window))
	if err != nil {
		return nil, err
	}
	var scrapers sync.WaitGroup
	failed := make([]error, len(scrapes))
	for i, length := range scrapes {
		scrapers.Go(func() {
			for ctx.Err() == nil && failed[i] == nil {
				if err := p.Profile(ctx, new(bytes.Buffer), exporter.KindCPU, length); ctx.Err() == nil {
					failed[i] = err
				}
			}
		})
	}
	work(ctx)
	scrapers.Wait()
	for _, err := range append(failed, p.Shutdown(context.WithoutCancel(ctx))) {
		if err != nil {
			return nil, err
		}
	}
	return rec.Profiles(), nil
}

// printLoss prints the CPU time of samples divided by the CPU time of the process.
func printLoss(tracer trace.Tracer, rounds int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "CPU time in samples, divided by the process's\t\tto the one profile\t95 %% interval\t\n")
	for _, goroutines := range []int{1, 64} {
		work := func(ctx context.Context) {
			var all sync.WaitGroup
			for range goroutines {
				all.Go(func() {
					for ctx.Err() == nil {
						span(tracer)
					}
				})
			}
			all.Wait()
		}
		shares, relative := make([][]float64, len(ways)), make([][]float64, len(ways))
		for round := range rounds {
			for i := range ways {
				which := (i + round) % len(ways) // each is first in turn
				share, err := shareOf(ways[which].run, work)
				if err != nil {
					return fmt.Errorf("%s: %w", ways[which].name, err)
				}
				shares[which] = append(shares[which], share)
			}
			for i := range ways {
				relative[i] = append(relative[i], shares[i][round]/shares[0][round])
			}
		}
		for i, way := range ways {
			share, to := estimateOf(shares[i]), estimateOf(relative[i])
			fmt.Fprintf(w, "%d busy: %s\t%.4f\t%.4f\t%.4f to %.4f\t\n", goroutines, way.name, share.value, to.value, to.low, to.high)
		}
	}
	return w.Flush()
}

// shareOf measures one way once.
func shareOf(run func(context.Context, func(context.Context)) ([]*exporter.Profile, error), work func(context.Context)) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), measured)
	defer cancel()
	begin := cpuTime()
	profiles, err := run(ctx, work)
	used := cpuTime() - begin
	var sampled time.Duration
	for _, p := range profiles {
		parsed, failed := p.Parsed()
		if failed != nil {
			return 0, failed
		}
		for _, s := range parsed.Sample {
			sampled += time.Duration(s.Value[1])
		}
	}
	return sampled.Seconds() / used.Seconds(), err
}
