// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

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
	work    func()
	samples int64
	busy    time.Duration // CPU time while samples were taken
}

// measure returns the CPU time that the middle two of four equal pieces of work take beyond the
// others. They are profiled if on is true. What grows or shrinks evenly cancels. If on is false,
// the result should be zero: the rest is an error of the method. The collector is off meanwhile
// and runs in between: one of its rounds costs more than the samples.
func (q *profiled) measure(ctx context.Context, on bool) (float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var took [4]float64
	var p *profiler.Profiler
	var recorder exportertest.Recorder
	var began time.Duration
	for i := range took {
		var err error
		switch {
		case on && i == 1:
			began = cpuTime()
			p, err = profiler.New(&recorder, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(time.Hour))
		case on && i == 2:
			err = p.Flush(ctx)
		case on && i == 3:
			q.busy += cpuTime() - began
			err = p.Shutdown(ctx)
		}
		if err != nil {
			return 0, err
		}
		runtime.GC()
		time.Sleep(settle)
		begin := cpuTime()
		q.work()
		took[i] = (cpuTime() - begin).Seconds()
	}
	for _, window := range recorder.Profiles() {
		parsed, err := window.Parsed()
		if err != nil {
			return 0, err
		}
		for _, s := range parsed.Sample {
			q.samples += s.Value[0]
		}
	}
	return (took[1]+took[2])/(took[0]+took[3]) - 1, nil
}
