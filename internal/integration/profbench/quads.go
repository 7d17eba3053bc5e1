// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// settle is how long the profiler takes to come to rest after a cut: it looks a few more
// times at once for samples from before it. Each window has that once, and so it belongs
// to its end, not to the samples.
const settle = 200 * time.Millisecond

// quads does the same work four times in a row, again and again, and counts the
// samples that were taken meanwhile.
type quads struct {
	exportertest.Recorder

	work     func() error
	profiler *profiler.Profiler
	samples  int64
	busy     time.Duration // CPU time while samples were taken
}

func newQuads(work func() error) (*quads, error) {
	q := &quads{work: work}
	p, err := profiler.New(q, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(fast), profiler.WithWindow(time.Hour))
	if err != nil {
		return nil, err
	}
	q.profiler = p
	return q, errors.Join(p.Disable(context.Background(), exporter.KindCPU), p.Start())
}

// Export counts the samples of a window.
func (q *quads) Export(_ context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	for _, s := range parsed.Sample {
		q.samples += s.Value[0]
	}
	return nil
}

// measure returns by what the middle two of four equal pieces of work take more
// CPU time than the others, if on with the CPU profiled.
func (q *quads) measure(ctx context.Context, on bool) (float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var took [4]float64
	var began time.Duration
	for i := range took {
		change := q.profiler.Disable
		if on && (i == 1 || i == 2) {
			change = q.profiler.Enable
		}
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
		if err := errors.Join(change(ctx, exporter.KindCPU), q.profiler.Flush(ctx)); err != nil {
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
