// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

// confirm looks for a call of StopCPUProfile after firstLook, which is above the time
// that a call of runtime/pprof takes on a machine that is not busy, and then
// after twice as long each time, since a look stops all goroutines for a moment.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

var _ io.Writer = (*cpuWindow)(nil)

// cpuWindow is one run of the runtime's CPU profiler, and receives its profile.
//
// Where the runtime is known the samples are read from within the first Write of
// runtime/pprof: it begins to write when the samples that it took have ended, and
// then waits for Write, holding the CPU profiler for us like for any profile. So its
// own measurement is ended as soon as it has begun, and the one that is read
// begins inside of Write, at the rate that is wanted. When anybody stops the profile
// that one ends, and Write returns. Elsewhere runtime/pprof writes the profile.
//
// The other way, to take samples before runtime/pprof does, prints a line on stderr
// (https://go.dev/issue/42502), and a profile of the program would have two readers.
type cpuWindow struct {
	log *cpulog.Log // nil if runtime/pprof writes the profile
	// stopped gets a token, if it has room, when something else stops the
	// run. It may be nil.
	stopped chan<- struct{}
	start   time.Time // of the run, or where it was cut
	// ended is when the run was stopped. Who stops it from outside cannot
	// say when: then it is the time of the first Write, or of the end of the
	// samples, some milliseconds later.
	ended   atomic.Pointer[time.Time]
	byUs    atomic.Bool // we have stopped it
	noticed bool        // that we have not is known; the loop's
	read    atomic.Bool // the log has been read to its end
	// dropped counts samples of the log that are in no profile, for all runs. It
	// may be nil.
	dropped *atomic.Uint64

	mu sync.Mutex
	// profile is whole after a call to runtime/pprof that follows the end,
	// because that call and the writes exclude each other, or when complete
	// says so.
	profile bytes.Buffer
}

// openCPUWindow starts the CPU profiler, whose samples log reads; where that is nil
// runtime/pprof writes the profile. It fails while a CPU profile runs, ours or another.
func openCPUWindow(log *cpulog.Log, stopped chan<- struct{}) (*cpuWindow, error) {
	w := &cpuWindow{log: log, stopped: stopped}
	if err := pprof.StartCPUProfile(w); err != nil {
		return nil, err
	}
	if w.log != nil {
		runtime.SetCPUProfileRate(0) // runtime/pprof calls Write
		<-w.log.Reading()
		w.start = w.log.Start()
		return w, nil
	}
	w.start = time.Now()
	return w, nil
}

// confirm finds out whether the program has called StopCPUProfile while the log was
// stopped. That call would wait for as long as we read, and an attempt to start a profile
// waits for it.
func (w *cpuWindow) confirm() {
	tried := make(chan *cpuWindow, 1)
	go func() {
		probe, _ := openCPUWindow(nil, nil)
		tried <- probe
	}()
	for look := firstLook; ; look = min(2*look, lastLook) {
		select {
		case probe := <-tried:
			halt(probe) // it is on if whoever it was has stopped ours
			return
		case <-time.After(look):
			if _, waits := stopping(); waits {
				w.log.End()
			}
		}
	}
}

// Write receives a piece of the profile. The runtime collects the whole profile
// in memory and writes nothing before the profiler is stopped, so a first
// Write without a stop of ours says that somebody else has stopped it.
func (w *cpuWindow) Write(b []byte) (int, error) {
	if w.log != nil {
		if w.read.Load() {
			return len(b), nil // of a profile without samples
		}
		w.log.Begin()
		// A StopCPUProfile that the program has called since our profile was
		// started, before the log began, waits for us and would do so for as long as
		// we measure. One that is called from now on ends the log itself.
		if stoppedBefore() {
			w.log.End()
		}
		w.log.Record()
		w.read.Store(true)
	}
	if w.running() {
		w.end()
		select {
		case w.stopped <- struct{}{}:
		default:
		}
	}
	if w.log != nil {
		return len(b), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.profile.Write(b)
}

// surprised returns what is closed when samples cannot be read, nil if that cannot
// happen. w may be nil.
func (w *cpuWindow) surprised() <-chan struct{} {
	if w == nil || w.log == nil {
		return nil
	}
	return w.log.Surprised()
}

// full returns what has a token when the samples since the last cut have nearly filled
// their room, nil if that cannot be. w may be nil.
func (w *cpuWindow) full() <-chan struct{} {
	if w == nil || w.log == nil {
		return nil
	}
	return w.log.Full()
}

// running reports whether nobody has stopped the run yet.
func (w *cpuWindow) running() bool { return w.ended.Load() == nil }

// stop ends the run, which must be the one that the runtime has on.
func (w *cpuWindow) stop() {
	w.byUs.Store(true)
	w.end()
	if w.log != nil {
		w.log.Close()
	}
	pprof.StopCPUProfile()
}

func (w *cpuWindow) end() {
	now := time.Now()
	w.ended.Store(&now)
}

// complete reports whether the whole profile is there: it is gzipped, and its
// end can be told from a beginning.
func (w *cpuWindow) complete() bool {
	if w.log != nil {
		return w.read.Load()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	z, err := gzip.NewReader(bytes.NewReader(w.profile.Bytes()))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, z)
	return err == nil
}

// await returns when the profile of a run that has been stopped is whole, or after
// limit.
func (w *cpuWindow) await(limit time.Duration) {
	begin := time.Now()
	for d := time.Millisecond; !w.complete() && time.Since(begin) < limit; d *= 2 {
		<-time.After(d)
	}
}

// export returns what a run that has ended measured.
func (w *cpuWindow) export(r *resource.Resource) (*exporter.Profile, error) {
	if w.log != nil {
		p, _, err := w.cut(r)
		return p, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return exporter.NewProfile(exporter.Window{
		Kind:  exporter.KindCPU,
		Start: w.start,
		// A run that was stopped from outside the moment it began has
		// ended before start was read.
		Duration: max(0, w.ended.Load().Sub(w.start)),
		Resource: r,
	}, w.profile.Bytes()), nil
}

// cut returns what a run with a log has measured since the last cut. The run goes
// on. The error, which comes with a profile, says that samples are missing; how tells more
// of the cut, without the samples.
func (w *cpuWindow) cut(r *resource.Resource) (p *exporter.Profile, how cpulog.Piece, err error) {
	piece, err := w.log.Cut()
	w.count(err)
	if piece.Restarted && w.running() {
		w.confirm()
	}
	window := exporter.Window{Kind: exporter.KindCPU, Start: piece.Start, Duration: piece.End.Sub(piece.Start), Resource: r}
	p = exporter.NewParsedProfile(window, piece.Profile, piece.Times...)
	piece.Profile, piece.Times = nil, nil
	return p, piece, err
}

// count counts the samples that err says are missing.
func (w *cpuWindow) count(err error) {
	var dropped *cpulog.DroppedError
	if w.dropped != nil && errors.As(err, &dropped) {
		w.dropped.Add(uint64(dropped.Samples))
	}
}
