// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

var _ sampler = (*cpu)(nil)

// What is reported when it begins.
var (
	errForeignProfile = errors.New("cpu profile: another one is running in this process; we take over when it ends")
	errForeignStop    = errors.New("cpu profile: something else in this process has stopped it; the window has a gap")
)

// cpu runs the runtime's CPU profiler, of which a process has one. The program may use it too: a profile that is not ours is never ended.
type cpu struct {
	resource *resource.Resource
	hz       int
	// stopped holds a token when something else may have stopped our run.
	stopped chan struct{}

	// What follows is the loop's alone.
	takeover takeover
	resume   time.Time // no attempt before; set by foreign stops
	retry    time.Time // when to try again; zero while a run of ours is on

	mu    sync.Mutex // guards what follows; the loop alone writes it
	open  *cpuWindow // nil when another profile is running, and before start
	state cpuState
	stops uint64 // how often something else has stopped our run
}

// cpuState says whose the CPU profiler is.
type cpuState int

const (
	cpuStopped cpuState = iota // nobody's, as far as we are concerned
	cpuOpening                 // not known before runtime/pprof lets us ask
	cpuOwn                     // ours
	cpuForeign                 // someone else's
	cpuBackoff                 // left to who has stopped ours again and again
)

func newCPU(r *resource.Resource, hz int) *cpu {
	return &cpu{resource: r, hz: hz, stopped: make(chan struct{}, 1)}
}

func (c *cpu) start() error {
	c.mu.Lock()
	c.state = cpuOpening
	c.mu.Unlock()
	w, _ := openCPUWindow(c.hz, c.stopped)
	return c.set(w)
}

// rotate cuts the open run or, where that cannot be, closes it and opens the next,
// which is also how a run begins when there was none. It opens none before
// c.resume.
func (c *cpu) rotate() (*exporter.Profile, error) {
	if c.measuring() && c.open.log != nil {
		return c.cut()
	}
	err := c.notice(c.open)
	if time.Now().Before(c.resume) {
		piece, missing := c.collect()
		return piece, errors.Join(err, missing)
	}
	closed := c.open
	w := c.close()
	if w == nil {
		w, _ = openCPUWindow(c.hz, c.stopped)
	}
	// It may have been stopped after the first look.
	err = errors.Join(err, c.notice(closed), c.set(w))
	if closed == nil {
		return nil, err
	}
	piece, missing := closed.export(c.resource)
	return piece, errors.Join(err, missing)
}

// cut returns what the open run has measured, and lets it go on.
func (c *cpu) cut() (*exporter.Profile, error) {
	piece, err := c.open.cut(c.resource)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open.start = c.open.log.Start()
	return piece, err
}

func (c *cpu) stop() (*exporter.Profile, error) {
	closed := c.open
	if w := c.close(); w != nil {
		w.stop()
	}
	err := c.notice(closed)
	c.mu.Lock()
	c.open, c.state = nil, cpuStopped
	c.mu.Unlock()
	c.takeover, c.resume, c.retry = takeover{}, time.Time{}, time.Time{}
	if closed == nil {
		return nil, err
	}
	piece, missing := closed.export(c.resource)
	return piece, errors.Join(err, missing)
}

// close ends the open run if it is still on, and nothing else.
//
// That it is on is not known by asking it: someone may have stopped the
// profile, whose writing takes some 20 ms, and may have started another. So
// close begins with an attempt to start the profiler. It waits, like every call
// of runtime/pprof, for a stop that is under way, and its outcome is certain:
// when it succeeds no profile was running, and close returns the run that it
// has opened; when it fails a profile is running, which is ours if nothing has
// been written to our run. What remains are the nanoseconds between that
// answer and our StopCPUProfile; runtime/pprof has no call that does both.
func (c *cpu) close() *cpuWindow {
	w, err := openCPUWindow(c.hz, c.stopped)
	if err != nil && c.open != nil && c.open.running() {
		c.open.stop()
	}
	return w
}

// notice deals with a stop of w, which may be nil, that was not ours: once. The
// error is to be reported.
func (c *cpu) notice(w *cpuWindow) error {
	if w == nil || w.running() || w.byUs || w.noticed {
		return nil
	}
	w.noticed = true
	c.mu.Lock()
	c.stops++
	c.mu.Unlock()

	now := time.Now()
	c.resume = c.takeover.stopped(now)
	// Not at once: who stops a profile may be about to start one.
	c.retry = c.resume.Add(jitter(firstPoll))
	if !c.resume.After(now) {
		return errForeignStop
	}
	return fmt.Errorf("%w; because that happens again and again the CPU is not profiled for %v",
		errForeignStop, c.takeover.backoff)
}

// collect returns the profile of a run that was stopped by something else,
// without a call of runtime/pprof, which would start a profile. It is nil
// if there is no such run or if it is still being written.
func (c *cpu) collect() (*exporter.Profile, error) {
	closed := c.open
	if closed != nil && !closed.complete() {
		return nil, nil
	}
	c.mu.Lock()
	c.open, c.state = nil, cpuBackoff
	c.mu.Unlock()
	if closed == nil {
		return nil, nil
	}
	return closed.export(c.resource)
}

// set makes w, nil if another profile is running, the open run. The error says
// that another profile has begun.
func (c *cpu) set(w *cpuWindow) error {
	before := c.state
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = w
	if w != nil {
		c.state, c.retry = cpuOwn, time.Time{}
		c.takeover.granted()
		return nil
	}
	c.state, c.retry = cpuForeign, time.Now().Add(c.takeover.refused())
	if before == cpuForeign {
		return nil
	}
	return errForeignProfile
}

// measuring reports whether a run of ours is on.
func (c *cpu) measuring() bool { return c.open != nil && c.open.running() }

// status returns when the open run began, zero if none is open, how often one
// was stopped by something else, and what is going on in words.
func (c *cpu) status() (start time.Time, stops uint64, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == cpuStopped:
		return time.Time{}, c.stops, "stopped"
	case c.state == cpuOpening:
		return time.Time{}, c.stops, "waiting until another CPU profile of this process has been written"
	case c.state == cpuForeign:
		return time.Time{}, c.stops, "another CPU profile is running in this process; waiting for it to end"
	case c.state == cpuBackoff:
		return time.Time{}, c.stops, "something else in this process stops the CPU profile again and again; trying again later"
	case !c.open.running():
		return time.Time{}, c.stops, "something else in this process has stopped the CPU profile; trying again soon"
	default:
		return c.open.start, c.stops, "profiling"
	}
}
