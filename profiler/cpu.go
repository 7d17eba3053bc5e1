// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

// These errors are reported once, when the condition begins.
var (
	errForeignProfile = errors.New("cpu profile: another one is running in this process; we try again at the end of each window")
	errForeignStop    = errors.New("cpu profile: something else in this process has stopped it; the window has a gap")
	errNotClosed      = errors.New("cpu profile: the last window is missing: another profile is still being written")
	errDeaf           = errors.New("cpu profile: there are no samples: something else in this process, a C library for example, handles SIGPROF, the signal by which the runtime takes them; have it leave that signal to Go")
)

// cpu is the owner of the runtime's CPU profiler. A process has one, and the program may use
// it too: cpu never ends a profile that is not its own. Only the loop calls its methods.
type cpu struct {
	// patience bounds how long a call of runtime/pprof may delay the loop.
	patience time.Duration
	read     cpulog.Reader
	public   error // why runtime/pprof reads the samples; nil if a cpulog.Log does

	state   string
	foreign uint64        // how often something else had the profiler, or stopped ours
	open    *cpuRun       // nil if there is none
	noticed bool          // that something else stopped open
	pending chan *cpuRun  // the run that a call of runtime/pprof opens that took too long
	used    time.Duration // CPU time of the process at the last cut
}

func newCPU(of config) *cpu {
	c := &cpu{patience: of.patience, read: goruntime.ReadCPUProfile, state: stateStopped}
	if of.public != nil {
		c.public = publicError(of.public)
	}
	return c
}

func publicError(why error) error {
	return fmt.Errorf("cpu profile: runtime/pprof reads the samples, without their times, so that those after a span's end count for it: this package cannot read them from %s: %w", runtime.Version(), why)
}

// cpuRun is one profile of runtime/pprof, and its writer.
//
// With a log the samples are read inside the first Write. runtime/pprof writes when its own
// samples have ended, and then waits for Write. So its samples are ended at once, and the log's
// samples begin inside Write. runtime/pprof holds the CPU profiler for us meanwhile. If
// anybody stops the profile, the log ends, and Write returns. So while Write has not
// returned, the running profile is ours.
//
// To take samples before runtime/pprof would print a line on stderr
// (https://go.dev/issue/42502). A profile of the program would then have two readers.
type cpuRun struct {
	log     *cpulog.Log // nil if runtime/pprof reads the samples
	start   time.Time   // of a run without a log
	once    sync.Once
	checks  sync.WaitGroup // calls of confirm
	written chan struct{}  // closed by the first Write without a log
	end     time.Time      // of a run without a log
	profile bytes.Buffer   // without a log; whole after a later call of runtime/pprof
}

// openRun starts the CPU profiler. It returns nil while a CPU profile runs, ours or another.
// A nil read leaves the samples to runtime/pprof.
func openRun(read cpulog.Reader) *cpuRun {
	r := &cpuRun{start: time.Now(), written: make(chan struct{})}
	if read != nil {
		r.log = cpulog.New(read)
	}
	if pprof.StartCPUProfile(r) != nil {
		return nil
	}
	if r.log != nil {
		runtime.SetCPUProfileRate(0) // runtime/pprof calls Write
		<-r.log.Started()
		r.checks.Go(r.confirm)
	}
	return r
}

func (r *cpuRun) Write(b []byte) (int, error) {
	if r.log != nil {
		r.once.Do(r.log.Run)
		return len(b), nil // of a profile without samples
	}
	r.once.Do(func() {
		r.end = time.Now()
		close(r.written)
	})
	return r.profile.Write(b)
}

// ended is closed when the run is over.
func (r *cpuRun) ended() <-chan struct{} {
	if r.log != nil {
		return r.log.Ended()
	}
	return r.written
}

func (r *cpuRun) running() bool {
	select {
	case <-r.ended():
		return false
	default:
		return true
	}
}

// stop ends the run, which may be nil, if it is still on. An attempt to start a profile comes
// first. It waits for a stop that is under way, and fails only if a profile is running. That is
// ours if our run is on.
func (r *cpuRun) stop() {
	if r == nil {
		return
	}
	r.checks.Wait() // or the attempt of confirm would start a profile
	for r.running() {
		if probe := openRun(nil); probe != nil {
			r = probe // the program has just stopped ours
			continue
		}
		if r.running() {
			if r.log != nil {
				r.log.Close()
			}
			pprof.StopCPUProfile()
		}
		return
	}
}

// confirmLimit is how long an attempt to start a profile may take while ours is on. It fails
// at once, unless a StopCPUProfile waits for our profile to end.
const confirmLimit = 5 * time.Second

// confirm ends the run if something else called StopCPUProfile just while the log had
// stopped the runtime. That call could not stop the log, and would wait for it. After the end the
// running profile may be the program's, so confirm stops its own attempt only.
func (r *cpuRun) confirm() {
	goruntime.ClearLabels()
	limit := time.AfterFunc(confirmLimit, r.log.Stop)
	probe := openRun(nil)
	limit.Stop()
	if probe != nil { // the program has stopped ours
		probe.stop()
	}
}

// next opens a run, after it has ended old, which may be nil. It returns nil if another
// profile is running. The attempt before the end shows whether old is still on: it waits for
// a stop that is under way, and succeeds only if no profile is running.
func (c *cpu) next(old *cpuRun) *cpuRun {
	read := c.read
	if c.public != nil {
		read = nil
	}
	r := openRun(read)
	if r == nil && old != nil && old.running() {
		old.stop()
		r = openRun(read)
	}
	return r
}

// try runs f, which calls runtime/pprof, and returns the run that it opened. If that takes
// longer than c.patience it returns false, and c.pending gets the run: a StopCPUProfile
// writes to a reader that has stalled, and all other calls wait for it.
func (c *cpu) try(f func() *cpuRun) (opened *cpuRun, ok bool) {
	pending := make(chan *cpuRun, 1)
	go func() {
		// The goroutine that runtime/pprof starts for a profile inherits the labels of its
		// creator. It works for no span.
		goruntime.ClearLabels()
		pending <- f()
	}()
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case r := <-pending:
		return r, true
	case <-timer.C:
		c.pending = pending
		return nil, false
	}
}

func (c *cpu) start() error {
	_, err := c.rotate()
	return errors.Join(c.public, err)
}

// rotate cuts the open run. If none is on it opens one.
func (c *cpu) rotate() (*exporter.Profile, error) {
	if c.pending != nil {
		return nil, nil
	}
	old := c.open
	if old != nil && old.log != nil && old.running() && c.public == nil {
		return c.cut()
	}
	err := c.notice()
	r, ok := c.try(func() *cpuRun { return c.next(old) })
	if !ok {
		c.state = stateWaiting
		return nil, err
	}
	piece, missing := c.adopt(r)
	return piece, errors.Join(err, missing)
}

// adopt makes r, nil if another profile is running, the open run, and returns the profile of
// the one before.
func (c *cpu) adopt(r *cpuRun) (*exporter.Profile, error) {
	old, before := c.open, c.state
	c.pending, c.open, c.noticed = nil, r, false
	var err error
	switch {
	case r != nil:
		c.state = stateOwn
		c.used, _ = cpulog.ProcessTime()
	default:
		if c.state = stateForeign; before != stateForeign {
			c.foreign++
			err = errForeignProfile
		}
	}
	if old == nil {
		return nil, err
	}
	piece, missing := c.export(old)
	return piece, errors.Join(err, missing)
}

// cut returns the samples of the open run since the last cut. The run goes on.
func (c *cpu) cut() (*exporter.Profile, error) {
	piece, err := c.export(c.open)
	if errors.Is(err, cpulog.ErrRecord) && c.public == nil {
		c.public = publicError(cpulog.ErrRecord) // from the next window on
		err = c.public
	}
	return piece, err
}

// deafAfter is how much CPU time without a sample shows that signals do not arrive.
const deafAfter = time.Second

// export returns the samples of a run, and nil if it has ended before.
func (c *cpu) export(r *cpuRun) (*exporter.Profile, error) {
	if r.log == nil {
		return marked(window(r.start, r.end), r.profile.Bytes())
	}
	piece, err := r.log.Cut()
	if piece.Restarted {
		r.checks.Go(r.confirm)
	}
	if used, ok := cpulog.ProcessTime(); ok && r == c.open {
		switch {
		case piece.Samples > 0:
			c.used = used
			c.state = stateOwn
		case used-c.used > deafAfter && c.state == stateOwn:
			c.state = stateDeaf
			err = errors.Join(err, errDeaf)
		}
	}
	return exporter.NewParsedProfile(window(piece.Start, piece.End), piece.Profile), err
}

func window(from, until time.Time) exporter.Window {
	return exporter.Window{Kind: exporter.KindCPU, Start: from, Duration: max(0, until.Sub(from))}
}

// notice counts a stop of the open run by something else, once. The error must be reported.
func (c *cpu) notice() error {
	if c.open == nil || c.open.running() || c.noticed {
		return nil
	}
	c.noticed, c.state = true, stateTaken
	c.foreign++
	return errForeignStop
}

func (c *cpu) stop() (*exporter.Profile, error) {
	if c.pending != nil {
		select {
		case r := <-c.pending:
			piece, err := c.adopt(r)
			if piece != nil { // of the run before; the new one has just begun
				c.open, c.state = nil, stateStopped
				r.stop()
				return piece, err
			}
		case <-time.After(c.patience):
		}
	}
	err := c.notice()
	r := c.open
	c.open, c.state = nil, stateStopped
	if r == nil && c.pending == nil {
		return nil, err
	}
	if r != nil && c.pending == nil {
		c.try(func() *cpuRun { r.stop(); return nil })
	}
	if c.pending != nil {
		go func(pending <-chan *cpuRun) { (<-pending).stop() }(c.pending)
		c.pending = nil
		if r == nil {
			return nil, err
		}
		if r.log == nil || r.running() {
			return nil, errors.Join(err, errNotClosed)
		}
	}
	piece, missing := c.export(r)
	return piece, errors.Join(err, missing)
}

// lost returns a channel that is closed when something else has stopped the open run; nil if
// that is known or there is none.
func (c *cpu) lost() <-chan struct{} {
	if c.open == nil || c.pending != nil || c.noticed {
		return nil
	}
	return c.open.ended()
}

// full has a token when the open run must be cut early, or samples are dropped.
func (c *cpu) full() <-chan struct{} {
	if c.open == nil || c.open.log == nil {
		return nil
	}
	return c.open.log.Full()
}

// measuring reports whether a run of ours is on.
func (c *cpu) measuring() bool { return c.pending == nil && c.open != nil && c.open.running() }

// apart is the least time between two cuts: 10 ms, or more if a cut stops the profile.
func (c *cpu) apart() time.Duration {
	if c.public != nil {
		return time.Second
	}
	return 10 * time.Millisecond
}
