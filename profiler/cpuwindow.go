// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

var _ io.Writer = (*cpuWindow)(nil)

// cpuWindow is one run of the runtime's CPU profiler, and receives its profile.
type cpuWindow struct {
	// stopped gets a token, if it has room, when something else stops the
	// run. It may be nil.
	stopped chan<- struct{}
	start   time.Time
	// ended is when the run was stopped. Who stops it from outside cannot
	// say when: then it is the time of the first Write, some milliseconds
	// later.
	ended atomic.Pointer[time.Time]
	// byUs says that we stopped it, noticed that we know we did not.
	byUs, noticed bool

	mu sync.Mutex
	// profile is whole after a call to runtime/pprof that follows the end,
	// because that call and the writes exclude each other, or when complete
	// says so.
	profile bytes.Buffer
}

// openCPUWindow starts the CPU profiler. It fails while a CPU profile runs, ours
// or another.
func openCPUWindow(stopped chan<- struct{}) (*cpuWindow, error) {
	w := &cpuWindow{stopped: stopped}
	if err := pprof.StartCPUProfile(w); err != nil {
		return nil, err
	}
	w.start = time.Now()
	return w, nil
}

// Write receives a piece of the profile. The runtime collects the whole profile
// in memory and writes nothing before the profiler is stopped, so a first
// Write without a stop of ours says that somebody else has stopped it.
func (w *cpuWindow) Write(b []byte) (int, error) {
	if w.running() {
		w.end()
		select {
		case w.stopped <- struct{}{}:
		default:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
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

// complete reports whether the whole profile has been written: it is gzipped,
// and its end can be told from a beginning.
func (w *cpuWindow) complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	z, err := gzip.NewReader(bytes.NewReader(w.profile.Bytes()))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, z)
	return err == nil
}

// export returns what a run that has ended measured.
func (w *cpuWindow) export(r *resource.Resource) *exporter.Profile {
	w.mu.Lock()
	defer w.mu.Unlock()
	return exporter.NewProfile(exporter.Window{
		Kind:  exporter.KindCPU,
		Start: w.start,
		// A run that was stopped from outside the moment it began has
		// ended before start was read.
		Duration: max(0, w.ended.Load().Sub(w.start)),
		Resource: r,
	}, w.profile.Bytes())
}
