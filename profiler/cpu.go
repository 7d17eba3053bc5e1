// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

var _ sampler = (*cpu)(nil)

// What is reported when it begins.
var (
	errForeignProfile = errors.New("cpu profile: another one is running in this process; windows are skipped until it ends")
	errForeignStop    = errors.New("cpu profile: something else in this process has stopped it; the window is shorter")
)

// cpu runs the runtime's CPU profiler, of which a process has one, window after
// window. The program may use it too: a profile that is not ours is never ended.
type cpu struct {
	resource *resource.Resource

	mu    sync.Mutex // guards what follows; the loop alone writes it
	open  *cpuWindow // nil when another profile is running, and before start
	state cpuState
}

// cpuState says whose the CPU profiler is.
type cpuState int

const (
	cpuStopped cpuState = iota // nobody's, as far as we are concerned
	cpuOpening                 // not known before runtime/pprof lets us ask
	cpuOwn                     // ours
	cpuForeign                 // someone else's
)

func newCPU(r *resource.Resource) *cpu {
	return &cpu{resource: r}
}

func (c *cpu) start() error {
	c.mu.Lock()
	c.state = cpuOpening
	c.mu.Unlock()
	w, _ := openCPUWindow()
	return c.set(w)
}

func (c *cpu) rotate() (*exporter.Profile, error) {
	closed := c.open
	w := c.close()
	if w == nil {
		w, _ = openCPUWindow()
	}
	return c.finish(closed, c.set(w))
}

func (c *cpu) stop() (*exporter.Profile, error) {
	closed := c.open
	if w := c.close(); w != nil {
		w.stop()
	}
	c.mu.Lock()
	c.open, c.state = nil, cpuStopped
	c.mu.Unlock()
	return c.finish(closed, nil)
}

// close ends the open window if it is still running, and nothing else.
//
// That it is running is not known by asking it: someone may have stopped the
// profile, whose writing takes some 20 ms, and may have started another. So
// close begins with an attempt to start the profiler. It waits, like every call
// of runtime/pprof, for a stop that is under way, and its outcome is certain:
// when it succeeds no profile was running, and close returns the window that it
// has opened; when it fails a profile is running, which is ours if nothing has
// been written to our window. What remains are the nanoseconds between that
// answer and our StopCPUProfile; runtime/pprof has no call that does both.
func (c *cpu) close() *cpuWindow {
	w, err := openCPUWindow()
	if err != nil && c.open != nil && c.open.running() {
		c.open.stop()
	}
	return w
}

// set makes w, nil if another profile is running, the open window. The error
// says that another profile has begun.
func (c *cpu) set(w *cpuWindow) error {
	before := c.state
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = w
	if w != nil {
		c.state = cpuOwn
		return nil
	}
	c.state = cpuForeign
	if before == cpuForeign {
		return nil
	}
	return errForeignProfile
}

// finish returns the profile of a window that has ended, nil if there was none.
func (c *cpu) finish(w *cpuWindow, err error) (*exporter.Profile, error) {
	if w == nil {
		return nil, err
	}
	if !w.byUs {
		err = errors.Join(errForeignStop, err)
	}
	return w.export(c.resource), err
}

// status returns when the open window began, zero if none is open, and what is
// going on in words.
func (c *cpu) status() (start time.Time, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == cpuStopped:
		return time.Time{}, "stopped"
	case c.state == cpuOpening:
		return time.Time{}, "waiting until another CPU profile of this process has been written"
	case c.state == cpuForeign:
		return time.Time{}, "another CPU profile is running in this process; waiting for it to end"
	case !c.open.running():
		return time.Time{}, "something else in this process has stopped the CPU profile; waiting for the next window"
	default:
		return c.open.start, "profiling"
	}
}
