// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// settle is how long the profiler takes to rest after a cut: it reads again after 100 ms. Each
// window has that once, so it belongs to the window's end, not to the samples.
const settle = 200 * time.Millisecond

// profiled does the same work four times in a row, again and again, and counts the samples.
type profiled struct {
	work     func() error
	profiler *profiler.Profiler
	samples  int64
	busy     time.Duration // CPU time while samples were taken
}

// profile starts or stops the profiler.
func (q *profiled) profile(ctx context.Context, on bool) (err error) {
	switch {
	case on && q.profiler == nil:
		q.profiler, err = profiler.New(&counting{of: q}, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(time.Hour))
	case on:
		err = q.profiler.Flush(ctx)
	case q.profiler != nil:
		err = q.profiler.Shutdown(ctx)
		q.profiler = nil
	}
	return err
}

// counting is an exporter that counts samples. Each profiler has its own.
type counting struct {
	exportertest.Recorder

	of *profiled
}

// Export counts the samples of a window.
func (c *counting) Export(_ context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	for _, s := range parsed.Sample {
		c.of.samples += s.Value[0]
	}
	return nil
}

// measure returns the CPU time that the middle two of four equal pieces of work take beyond the
// others. They are profiled if on is true.
func (q *profiled) measure(ctx context.Context, on bool) (float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var took [4]float64
	var began time.Duration
	for i := range took {
		if on && (i == 1 || i == 3) {
			now, err := cpuTime()
			if err != nil {
				return 0, err
			}
			if i == 3 {
				q.busy += now - began
			}
			began = now
		}
		// What the slice before has left to export or to collect is not
		// this one's.
		if err := q.profile(ctx, on && (i == 1 || i == 2)); err != nil {
			return 0, err
		}
		runtime.GC()
		time.Sleep(settle)
		cpu, err := cpuOf(q.work)
		if err != nil {
			return 0, err
		}
		took[i] = cpu.Seconds()
	}
	return (took[1]+took[2])/(took[0]+took[3]) - 1, nil
}
