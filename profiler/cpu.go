// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

var _ sampler = (*cpu)(nil)

// What is reported when it begins.
var (
	errForeignProfile = errors.New("cpu profile: another one is running in this process; we take over when it ends")
	errNotClosed      = errors.New("cpu profile: the last window is missing: another profile is still being written")
	errDeaf           = errors.New("cpu profile: there are no samples: something else in this process, a C library for example, handles SIGPROF, the signal by which the runtime takes them; have it leave that signal to Go")
	errUnwoken        = errors.New("twice, the signals by which it wakes the runtime's reader of samples have not done so: a filter of system calls may refuse tgkill, the machine may be too busy, or the runtime keeps samples in another way")
	errForeignStop    = errors.New("cpu profile: something else in this process has stopped it; the window has a gap")
)

// cpu runs the runtime's CPU profiler, of which a process has one. The program may
// use it too: a profile that is not ours is never ended.
type cpu struct {
	resource *resource.Resource
	// patience is how long a call of runtime/pprof may keep the loop waiting. A
	// run's end takes some 20 ms, and up to a second where 64 goroutines want two
	// cores.
	patience time.Duration
	// read is what samples are read by, except where runtime/pprof does.
	read cpulog.Reader
	// stopped holds a token when something else may have stopped our run.
	stopped chan struct{}

	// What follows is the loop's alone.
	takeover takeover
	resume   time.Time // no attempt before; set by foreign stops
	retry    time.Time // when to try again; zero while a run of ours is on
	// pending gets what a call of runtime/pprof that took too long has opened,
	// for adopt; nil when there is none.
	pending chan *cpuWindow
	unwoken int // how many of the last cuts have waited for a reader in vain

	mu    sync.Mutex // guards what follows; the loop alone writes it
	open  *cpuWindow // nil when another profile is running, and before start
	state cpuState
	stops uint64 // how often something else has stopped our run
	// foreigners is how often another profile was found running.
	foreigners uint64
	// edges is how often the runtime was stopped and begun again, unmeasured the time
	// in between.
	edges      uint64
	unmeasured time.Duration
	hz         int
	// deaf says that something else handles the signals of the samples.
	deaf bool
	// slow, which may be nil, says that the system cannot sample at hz, fallback why
	// runtime/pprof reads the samples, and public that this is nothing to report.
	slow, fallback error
	public         bool

	dropped atomic.Uint64 // samples that are in no profile
}

func newCPU(r *resource.Resource, hz int) *cpu {
	return &cpu{
		resource: r,
		patience: 2 * time.Second,
		read:     goruntime.ReadCPUProfile,
		stopped:  make(chan struct{}, 1),
		hz:       hz,
		slow:     slowTick(hz, tick()),
	}
}

func (c *cpu) start() error {
	if time.Now().Before(c.resume) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state, c.retry = cpuBackoff, c.resume.Add(jitter(firstPoll))
		return nil
	}
	c.wait()
	w, ok := c.try(func() *cpuWindow { return c.next(nil) })
	if !ok {
		return nil
	}
	return c.set(w)
}

// rotate cuts the open run or, where that cannot be, closes it and opens the next,
// which is also how a run begins when there was none. It opens none before
// c.resume, and does nothing while c.pending is not nil.
func (c *cpu) rotate() (*exporter.Profile, error) {
	if c.pending != nil {
		return nil, nil
	}
	var err error
	if c.measuring() && c.open.log != nil {
		select {
		case <-c.open.surprised():
			err = c.fallBack(cpulog.ErrRecord)
		default:
			if _, fallback := c.rate(); fallback == nil {
				return c.cut()
			}
		}
	}
	err = errors.Join(err, c.notice(c.open))
	if time.Now().Before(c.resume) {
		piece, missing := c.collect()
		return piece, errors.Join(err, missing)
	}
	closed := c.open
	w, ok := c.try(func() *cpuWindow { return c.next(closed) })
	if !ok {
		c.wait()
		return nil, err
	}
	piece, missing := c.adopt(w)
	return piece, errors.Join(err, missing)
}

// try runs f, which calls runtime/pprof, and returns what run it has opened. If that
// takes longer than c.patience it returns false, and c.pending will tell:
// somebody's StopCPUProfile writes to where nobody reads, and all others
// wait for it.
func (c *cpu) try(f func() *cpuWindow) (opened *cpuWindow, ok bool) {
	pending := make(chan *cpuWindow, 1)
	go func() {
		// The goroutine that runtime/pprof starts for a profile has the labels of
		// its creator. It does not work for a span.
		goruntime.ClearLabels()
		pending <- f()
	}()
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case w := <-pending:
		return w, true
	case <-timer.C:
		c.pending, c.retry = pending, time.Time{}
		return nil, false
	}
}

// wait says in Status that nothing is known before runtime/pprof lets us ask.
func (c *cpu) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = cpuOpening
}

// next ends closed, which may be nil, if it is still on, and opens the next run. It
// returns nil if another profile is running.
//
// That closed is on is not known by asking it: someone may have stopped the
// profile, whose writing takes some 20 ms, and may have started another. So
// next begins with an attempt to start the profiler. It waits, like every call
// of runtime/pprof, for a stop that is under way, and its outcome is certain:
// when it succeeds no profile was running; when it fails a profile is running,
// which is ours if nothing has been written to our run. What remains are the
// nanoseconds between that answer and our StopCPUProfile; runtime/pprof has no
// call that does both.
func (c *cpu) next(closed *cpuWindow) *cpuWindow {
	w, err := openCPUWindow(c.log(), c.stopped)
	if err != nil && closed != nil && closed.running() {
		closed.stop()
		w, _ = openCPUWindow(c.log(), c.stopped)
	}
	if closed != nil && !closed.byUs.Load() {
		// By runtime.SetCPUProfileRate(0) it can be over without a call of
		// runtime/pprof that had waited for the writing.
		closed.await(c.patience)
	}
	return w
}

// adopt makes w, which next has opened, the open run, and returns the profile of
// the one before.
func (c *cpu) adopt(w *cpuWindow) (*exporter.Profile, error) {
	c.pending = nil
	closed := c.open
	err := errors.Join(c.notice(closed), c.set(w))
	if closed == nil {
		return nil, err
	}
	if w != nil && closed.byUs.Load() {
		c.edge(w.start.Sub(*closed.ended.Load()))
	}
	piece, missing := closed.export(c.resource)
	return piece, errors.Join(err, missing)
}

// edge counts an end at which nothing was measured for gap.
func (c *cpu) edge(gap time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.edges++
	c.unmeasured += gap
}

// maxUnwoken is how many cuts in a row may wait for the reader of samples in vain, up to 10 s
// each, before runtime/pprof reads them. One can be the fault of a busy machine, and teaches the
// log to send more signals.
const maxUnwoken = 2

// cut returns what the open run has measured, and lets it go on.
func (c *cpu) cut() (*exporter.Profile, error) {
	piece, how, err := c.open.cut(c.resource)
	start := c.open.log.Start()
	if how.Restarted {
		c.edge(start.Sub(piece.End()))
	}
	if c.unwoken++; !how.Unwoken {
		c.unwoken = 0
	}
	if c.unwoken == maxUnwoken {
		err = errors.Join(err, c.fallBack(errUnwoken))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open.start = start
	if how.Deaf && !c.deaf {
		err = errors.Join(err, errDeaf)
	}
	c.deaf = how.Deaf
	return piece, err
}

// notice deals with a stop of w, which may be nil, that was not ours: once. The
// error is to be reported.
func (c *cpu) notice(w *cpuWindow) error {
	if w == nil || w.running() || w.byUs.Load() || w.noticed {
		return nil
	}
	w.noticed = true
	c.mu.Lock()
	c.stops++
	c.mu.Unlock()

	now := time.Now()
	c.resume = c.takeover.stopped(now)
	// Not at once: what stops a profile may be about to start one.
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
		w.dropped = &c.dropped
		c.state, c.retry = cpuOwn, time.Time{}
		c.takeover.granted()
		return nil
	}
	c.state, c.retry = cpuForeign, time.Now().Add(c.takeover.refused())
	if before == cpuForeign {
		return nil
	}
	c.foreigners++
	return errForeignProfile
}

// measuring reports whether a run of ours is on.
func (c *cpu) measuring() bool { return c.pending == nil && c.open != nil && c.open.running() }

// lost returns how many edges there were and the time that they have lost.
func (c *cpu) lost() (edges uint64, unmeasured time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.edges, c.unmeasured
}
