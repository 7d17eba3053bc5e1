// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"runtime"

	"github.com/grafana/pyroscope-go/godeltaprof"

	"github.com/spanprof/spanprof/exporter"
)

// known are the kinds that there is a sampler for.
var known = []exporter.Kind{
	exporter.KindCPU, exporter.KindHeap, exporter.KindWall, exporter.KindGoroutine, exporter.KindMutex, exporter.KindBlock,
}

// sampler returns a sampler of a known kind; of CPU and wall there is one for each
// Profiler.
func (p *Profiler) sampler(k exporter.Kind) sampler {
	r := p.config.resource
	switch k {
	case exporter.KindHeap:
		return &delta{kind: k, resource: r, profiler: godeltaprof.NewHeapProfiler()}
	case exporter.KindGoroutine:
		return &goroutines{resource: r}
	case exporter.KindMutex:
		d := &delta{kind: k, resource: r, profiler: godeltaprof.NewMutexProfiler()}
		if n := p.config.mutexFraction; n > 0 {
			d.on = func() func() { return setMutexFraction(n) }
		}
		return d
	case exporter.KindBlock:
		d := &delta{kind: k, resource: r, profiler: godeltaprof.NewBlockProfiler()}
		if n := p.config.blockRate; n > 0 {
			d.on = func() func() { return setBlockRate(n) }
		}
		return d
	case exporter.KindWall:
		return p.wall
	default:
		return p.cpu
	}
}

// setMutexFraction returns what puts the fraction back that was set before,
// unless somebody has changed it since.
func setMutexFraction(n int) (off func()) {
	before := runtime.SetMutexProfileFraction(n)
	return func() {
		if runtime.SetMutexProfileFraction(-1) == n {
			runtime.SetMutexProfileFraction(before)
		}
	}
}

// setBlockRate returns what sets the rate to 0, the runtime's default: unlike
// the mutex fraction it cannot be read.
func setBlockRate(n int) (off func()) {
	runtime.SetBlockProfileRate(n)
	return func() { runtime.SetBlockProfileRate(0) }
}
