// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

var (
	// ErrNotStarted is returned by Flush before Start.
	ErrNotStarted = errors.New("profiler: not started")
	// ErrShutdown is returned by Start, Flush, Enable and Disable after
	// Shutdown.
	ErrShutdown = errors.New("profiler: already shut down")

	errNeverStarted = errors.New("shut down without Start: nothing was measured, and the exporter got no profile; call Start after New")
)

// stopGrace bounds the wait of Start for the first windows to open. It also bounds the wait
// of Shutdown for the last to close if its context leaves less. That takes about 20 ms, and
// up to a second if 64 goroutines want two cores. On macOS it takes up to 200 ms, because
// the runtime polls for the end of a profile. It has no bound while another StopCPUProfile
// writes, to a client that does not read for example: runtime/pprof makes all others wait.
const stopGrace = 500 * time.Millisecond

// Profiler measures the process, window after window, and gives each window's
// profile to the lanes of its exporter. It is safe for concurrent use.
type Profiler struct {
	lanes    *exporter.Multi
	reporter report.Reporter
	config   config
	disabled bool
	cpu      *cpu       // in use while CPU is among the kinds
	wall     *wallClock // likewise
	metrics  *metrics
	skipped  atomic.Uint64
	windows  atomic.Uint64 // that were handed to the lanes
	unclosed atomic.Int64  // how many windows Shutdown has not closed (yet)

	wake  chan struct{}    // holds a token when pending is not nil
	calls chan func(*grid) // what the loop is to run
	stop  chan struct{}    // closed by Shutdown
	done  chan struct{}    // closed when the loop has ended

	// The loop's alone.
	streams []*stream // one for each kind, the CPU last
	closing bool      // Shutdown has been called

	mu      sync.Mutex
	state   state
	kinds   []exporter.Kind
	cpuRun  *stream       // of the CPU; nil if there is none
	pending chan struct{} // closed when the rotation that Flush asked for is done
	due     time.Time     // the end of the open windows
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
// sense or the MeterProvider fails; exp is then not touched.
func New(exp exporter.Exporter, opts ...Option) (*Profiler, error) {
	if exp == nil {
		return nil, errors.New("profiler: exporter is nil: the profiles need somewhere to go")
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(c.meterProvider)
	if err != nil {
		return nil, err
	}
	cpu := newCPU(c.resource, c.cpuRate)
	switch err := c.unknownRuntime(); {
	case err != nil:
		cpu.avoid(err)
	case !cpulog.Uncut && c.cpuRate == defaultCPURate:
		cpu.avoid(errors.New("on this system that would stop the profile at each end of a window"))
	}
	lanes := exporter.NewMulti(exp)
	return &Profiler{
		lanes:    lanes,
		config:   c,
		metrics:  m,
		disabled: env.Off(c.optIn),
		cpu:      cpu,
		wall:     newWallClock(c.resource, c.wallBudget, c.wallOfAll),
		wake:     make(chan struct{}, 1),
		calls:    make(chan func(*grid)),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		kinds:    slices.Clone(c.kinds),
	}, nil
}

// Start opens the first windows and returns. Another CPU profile in the process is no error:
// CPU windows are skipped until it ends, see Status. While such a profile is being written it
// is unknown whether it still runs. If that takes more than half a second Start returns, and
// the windows open afterwards. A second Start does nothing; after Shutdown it returns
// ErrShutdown. When profiling is disabled by the environment Start does nothing.
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

// Flush closes the open windows now, opens the next, and returns when every lane
// has delivered the profiles. It returns ctx's error if it ends first,
// ErrNotStarted or ErrShutdown, and the errors of the lanes: of an exporter's
// ForceFlush, and that profiles were lost since the last Flush, with the reason. The
// latter goes to otel.Handle too, when it happens, and is counted in Status. The error
// handler may call Flush and Shutdown; an exporter may not.
//
// Each end of a window makes a profile. If runtime/pprof reads CPU samples, it also loses the
// samples of about 20 ms. So Flush is for tests and for people in front of a page, not for a
// loop. Concurrent calls share a rotation.
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
	defer p.metrics.record(p.counts)
	err = p.lanes.ForceFlush(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && p.state == shutDown {
		return ErrShutdown
	}
	return err
}

// requestRotation returns a channel that is closed after the next rotation, nil if there will
// be none.
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

// Shutdown closes the open windows, exports them and shuts the exporter down. It returns the
// errors of the lanes, as Flush does. If ctx ends first, the errors have the number of
// profiles that each lane has left. Closing the windows takes about 20 ms, and more if
// all cores are busy. Shutdown waits for that at most half a second, even if ctx has
// ended: no CPU profile must stay on. A CPU window cannot be closed while another
// StopCPUProfile does not return. Shutdown then waits two seconds with the other windows
// closed, and reports the missing one. It also waits, as long at most, until otel.Handle has
// returned from the last reports.
//
// It ends the calls of Profile that share its windows. So shut the Profiler down before an
// http.Server with handlers that call Profile.
//
// Without Start it shuts only the exporter down, and reports through otel.Handle that
// nothing was measured. Calls after the first do nothing and return nil.
func (p *Profiler) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	before := p.state
	p.state = shutDown
	p.mu.Unlock()

	if before == shutDown {
		return nil
	}
	defer p.metrics.record(p.counts)
	if before == created && !p.disabled {
		p.report(errNeverStarted)
	}
	var errs []error
	if before == running {
		p.mu.Lock()
		p.unclosed.Store(int64(len(p.kinds))) // until the loop gets there
		p.mu.Unlock()
		close(p.stop)
		errs = append(errs, p.join(ctx))
	}
	var reported sync.WaitGroup
	reported.Go(func() { p.reporter.Wait(ctx) })
	if err := p.lanes.Shutdown(ctx); err != nil {
		errs = append(errs, fmt.Errorf("profiler: %w", err))
	}
	reported.Wait()
	return errors.Join(errs...)
}

// join waits for the end of the loop.
func (p *Profiler) join(ctx context.Context) error {
	cause := errNotClosed
	select {
	case <-p.done:
	case <-ctx.Done():
		select {
		case <-p.done:
		case <-time.After(stopGrace):
			cause = ctx.Err()
		}
	}
	if n := p.unclosed.Load(); n > 0 {
		return fmt.Errorf("profiler: %d window(s) not closed in time: %w", n, cause)
	}
	return nil
}
