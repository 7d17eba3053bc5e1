// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/handoff"
)

var (
	// ErrNotStarted is returned by Flush before Start.
	ErrNotStarted = errors.New("profiler: not started")
	// ErrShutdown is returned by Start, Flush, Enable and Disable after
	// Shutdown.
	ErrShutdown = errors.New("profiler: already shut down")
)

// stopGrace is how long Start waits for the first windows to open, and Shutdown
// for the last to close when its context leaves less. It takes about 20 ms, and
// up to 200 ms on macOS, where the runtime polls for the end of a profile. It
// takes as long as it likes while somebody's StopCPUProfile writes, to a client
// that does not read for example: runtime/pprof makes all others wait for it.
const stopGrace = 500 * time.Millisecond

// Profiler measures the process, window after window, and gives each window's
// profile to an exporter. It is safe for concurrent use.
type Profiler struct {
	exporter exporter.Exporter
	config   config
	disabled bool
	cpu      *cpu       // in use while CPU is among the kinds
	wall     *wallClock // likewise
	skipped  atomic.Uint64

	wake  chan struct{}    // holds a token when pending is not nil
	calls chan func(*grid) // what the loop is to run
	stop  chan struct{}    // closed by Shutdown
	done  chan struct{}    // closed when the loop has ended

	streams []*stream // the loop's, one for each kind

	mu      sync.Mutex
	state   state
	kinds   []exporter.Kind
	cpuRun  *stream                           // that of the CPU; nil if there is none
	queue   *handoff.Queue[*exporter.Profile] // nil before Start or Shutdown
	pending chan struct{}                     // closed when the rotation that Flush asked for is done
	due     time.Time                         // the end of the open windows
}

// state is how far a Profiler's life has come.
type state int

const (
	created state = iota
	running
	shutDown
)

// New returns a Profiler that measures nothing before Start. It takes ownership
// of exp, which Shutdown shuts down. It returns an error if an option makes no
// sense; exp is then not touched.
func New(exp exporter.Exporter, opts ...Option) (*Profiler, error) {
	if exp == nil {
		return nil, errors.New("profiler: exporter is nil: the profiles need somewhere to go")
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return &Profiler{
		exporter: exp,
		config:   c,
		disabled: env.Disabled(),
		cpu:      newCPU(c.resource),
		wall:     newWallClock(c.resource, c.wallBudget),
		wake:     make(chan struct{}, 1),
		calls:    make(chan func(*grid)),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		kinds:    slices.Clone(c.kinds),
	}, nil
}

// Start opens the first windows and returns. That another CPU profile is
// running is not an error: CPU windows are skipped until it ends, as Status
// tells. While such a profile is being written nobody can say whether it still
// runs: if that takes more than half a second Start returns, and the windows
// open when it is over. A second Start does nothing; after Shutdown it returns ErrShutdown.
// When profiling is disabled by the environment Start does nothing.
func (p *Profiler) Start() error {
	p.mu.Lock()
	if p.state == shutDown {
		p.mu.Unlock()
		return ErrShutdown
	}
	if p.state == running || p.disabled {
		p.mu.Unlock()
		return nil
	}
	p.state = running
	p.queue = handoff.New(p.exporter, exporter.ErrShutdown)
	p.mu.Unlock()

	opened := make(chan struct{})
	go p.loop(opened)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-opened:
	case <-timer.C:
	}
	return nil
}

// Flush closes the open windows now, opens the next, and returns when the
// exporter has delivered the profiles. It returns ctx's error if it ends first,
// an error of the exporter's ForceFlush, ErrNotStarted or ErrShutdown. An error
// of Export goes to otel.Handle and is counted in Status. The error handler may
// call Flush and Shutdown; an exporter may not.
//
// Every window loses about 20 ms of CPU samples at its end, so Flush is for
// people who wait and for tests, not for a loop. Concurrent calls share a
// rotation.
//
// When profiling is disabled by the environment Flush does nothing.
func (p *Profiler) Flush(ctx context.Context) error {
	rotated, err := p.requestRotation()
	if rotated == nil {
		return err
	}
	select {
	case <-rotated:
	case <-p.done:
		return ErrShutdown
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.queue.Flush(ctx); !errors.Is(err, exporter.ErrShutdown) {
		return err
	}
	return ErrShutdown
}

// requestRotation returns a channel that is closed after a rotation that begins
// from now on, and nil if there is none to come.
func (p *Profiler) requestRotation() (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.state == shutDown:
		return nil, ErrShutdown
	case p.disabled:
		return nil, nil
	case p.state == created:
		return nil, ErrNotStarted
	}
	if p.pending == nil {
		p.pending = make(chan struct{})
		p.wake <- struct{}{}
	}
	return p.pending, nil
}

// Shutdown closes the open windows, exports them and shuts the exporter down.
// When ctx ends first it returns an error that says how many profiles were left
// behind. Closing the windows takes about 20 ms; Shutdown waits for that, for at
// most half a second, even if ctx has ended, so that no CPU profile is left on.
// It also waits, for as long at most, until otel.Handle has returned from the
// last reports.
//
// Without Start it shuts only the exporter down. Calls after the first do
// nothing and return nil.
func (p *Profiler) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	before := p.state
	p.state = shutDown
	if p.queue == nil {
		p.queue = handoff.New(p.exporter, exporter.ErrShutdown)
	}
	p.mu.Unlock()

	if before == shutDown {
		return nil
	}
	var errs []error
	if before == running {
		close(p.stop)
		errs = append(errs, p.join(ctx))
	}
	if err := p.queue.Shutdown(ctx); err != nil {
		errs = append(errs, fmt.Errorf("profiler: %w", err))
	}
	return errors.Join(errs...)
}

// join waits for the end of the loop.
func (p *Profiler) join(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopGrace):
		return fmt.Errorf("profiler: last windows not closed in time: %w", ctx.Err())
	}
}

// Status returns what the Profiler is doing. It is cheap.
func (p *Profiler) Status() Status {
	p.mu.Lock()
	s := Status{
		Running:        p.state == running,
		Disabled:       p.disabled,
		Kinds:          slices.Clone(p.kinds),
		Window:         p.config.window,
		WindowsSkipped: p.skipped.Load(),
	}
	queue, due, cpuRun := p.queue, p.due, p.cpuRun
	p.mu.Unlock()

	if queue != nil {
		q := queue.Stats()
		s.WindowsExported, s.WindowsDropped = q.Exported, q.Dropped
		s.ExportErrors, s.WindowsWaiting = q.Failed, q.Waiting
	}
	if slices.Contains(s.Kinds, exporter.KindWall) {
		s.Wall = p.wall.status()
	}
	switch {
	case !slices.Contains(s.Kinds, exporter.KindCPU):
	case p.disabled:
		s.CPU = "disabled by the environment"
	default:
		s.CPUStart, s.CPUForeignStops, s.CPU = p.cpu.status()
		if s.CPUStart.IsZero() {
			break
		}
		s.CPUEnd = due
		if cpuRun != nil && !cpuRun.begun().IsZero() {
			s.CPUStart = cpuRun.begun()
		}
	}
	return s
}

// do has the loop, which must have been started, run f between two of its steps.
// It returns ErrShutdown or, while f may still be running, ctx's error.
func (p *Profiler) do(ctx context.Context, f func(*grid)) error {
	ran := make(chan struct{})
	call := func(g *grid) {
		defer close(ran)
		f(g)
	}
	select {
	case p.calls <- call:
	case <-p.done:
		return ErrShutdown
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-ran:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop owns the streams. It closes opened when the first windows are open.
func (p *Profiler) loop(opened chan<- struct{}) {
	defer close(p.done)
	// A goroutine inherits the labels of its creator, and so does the one
	// that runtime/pprof starts for each CPU profile. Neither works for
	// the span that happened to be open at Start.
	pprof.SetGoroutineLabels(context.Background())

	p.mu.Lock()
	kinds := slices.Clone(p.kinds)
	p.mu.Unlock()
	for _, k := range kinds {
		p.open(k)
	}
	g := grid{begin: time.Now().Add(-p.config.phase(p.config.window)), window: p.config.window}
	p.schedule(&g)
	timer := time.NewTimer(p.next())
	defer timer.Stop()
	close(opened)
	for {
		select {
		case <-timer.C:
			p.tick(&g)
		case <-p.wake:
			p.mu.Lock()
			rotated := p.pending
			p.pending = nil
			p.mu.Unlock()
			p.end(&g, sampler.rotate)
			close(rotated)
		case <-p.cpu.stopped:
			p.report(p.cpu.notice(p.cpu.open))
		case call := <-p.calls:
			call(&g)
		case <-p.stop:
			p.end(&g, sampler.stop)
			for _, s := range p.streams {
				s.release()
			}
			return
		}
		timer.Reset(p.next())
	}
}

// schedule sets when the open windows end.
func (p *Profiler) schedule(g *grid) {
	left := g.left()
	p.mu.Lock()
	p.due = time.Now().Add(left)
	p.mu.Unlock()
}

// next returns the time until something is to be done: the end of the windows,
// of a tap, or of the wait for the CPU profiler.
func (p *Profiler) next() time.Duration {
	next := p.due
	for _, s := range p.streams {
		if due, ok := s.due(); ok && due.Before(next) {
			next = due
		}
	}
	if retry := p.cpu.retry; !retry.IsZero() && retry.Before(next) {
		next = retry
	}
	return time.Until(next)
}

// tick does what next has waited for.
func (p *Profiler) tick(g *grid) {
	now := time.Now()
	if !now.Before(p.due) {
		p.end(g, sampler.rotate)
		return
	}
	for _, s := range p.streams {
		due, ok := s.due()
		switch {
		case ok && !due.After(now):
			if p.cut(g, s) {
				return
			}
		case s.kind == exporter.KindCPU && !p.cpu.retry.IsZero() && !p.cpu.retry.After(now):
			// Nothing runs that the end of the windows could share.
			p.report(s.cut(sampler.rotate))
		}
	}
}

// cut makes an edge in s. Windows that are due anyway soon end there, all of
// them; then it returns true.
func (p *Profiler) cut(g *grid, s *stream) bool {
	if time.Until(p.due) <= min(maxSlack, p.config.window/10) {
		p.end(g, sampler.rotate)
		return true
	}
	p.report(s.cut(sampler.rotate))
	return false
}

// end closes the open windows, by sampler.rotate or sampler.stop.
func (p *Profiler) end(g *grid, by func(sampler) (*exporter.Profile, error)) {
	measured := true
	for _, s := range p.streams {
		measured = p.endStream(s, by) && measured
	}
	if over := g.over(); !measured {
		p.skipped.Add(over)
	}
	p.schedule(g)
}

// endStream closes one window. It returns false if the schedule tells how many
// windows are lost because of it, as is so for the CPU.
func (p *Profiler) endStream(s *stream, by func(sampler) (*exporter.Profile, error)) bool {
	windows, err := s.end(by)
	p.report(err)
	for _, w := range windows {
		// The error would be that Shutdown has given up; the queue counts it.
		_ = p.queue.Push(w)
	}
	switch {
	case len(windows) > 0:
		return true
	case s.kind == exporter.KindCPU:
		return false
	default:
		p.skipped.Add(1)
		return true
	}
}

func (p *Profiler) report(err error) {
	if err != nil {
		p.queue.Report(fmt.Errorf("profiler: %w", err))
	}
}
