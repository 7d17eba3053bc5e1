// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"io"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

var _ io.Writer = (*cpuWindow)(nil)

// cpuWindow is one run of the runtime's CPU profiler, and receives its profile.
type cpuWindow struct {
	start time.Time
	// ended is when the run was stopped. Who stops it from outside cannot
	// say when: then it is the time of the first Write, some milliseconds
	// later.
	ended atomic.Pointer[time.Time]
	// byUs says that we stopped it.
	byUs bool
	// profile may be read after a call to runtime/pprof that follows the
	// end: that call and the writes exclude each other.
	profile bytes.Buffer
}

// openCPUWindow starts the CPU profiler. It fails while a CPU profile runs, ours
// or another.
func openCPUWindow() (*cpuWindow, error) {
	w := new(cpuWindow)
	if err := pprof.StartCPUProfile(w); err != nil {
		return nil, err
	}
	w.start = time.Now()
	return w, nil
}

// Write receives a piece of the profile. The runtime collects the whole profile
// in memory and writes nothing before the profiler is stopped, so the first
// Write says that somebody has stopped it.
func (w *cpuWindow) Write(b []byte) (int, error) {
	if w.running() {
		w.end()
	}
	return w.profile.Write(b)
}

// running reports whether nobody has stopped the run yet.
func (w *cpuWindow) running() bool { return w.ended.Load() == nil }

// stop ends the run, which must be the one that the runtime has on.
func (w *cpuWindow) stop() {
	w.byUs = true
	w.end()
	pprof.StopCPUProfile()
}

func (w *cpuWindow) end() {
	now := time.Now()
	w.ended.Store(&now)
}

// export returns what a run that has ended measured.
func (w *cpuWindow) export(r *resource.Resource) *exporter.Profile {
	return exporter.NewProfile(exporter.Window{
		Kind:  exporter.KindCPU,
		Start: w.start,
		// A run that was stopped from outside the moment it began has
		// ended before start was read.
		Duration: max(0, w.ended.Load().Sub(w.start)),
		Resource: r,
	}, w.profile.Bytes())
}
