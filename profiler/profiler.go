// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/report"
)

// stopGrace bounds the wait of New for the first windows to open. It also bounds the wait of
// Shutdown for the last to close if its context leaves less. That takes a few milliseconds,
// and up to a second if 64 goroutines want two cores. It has no bound while another
// StopCPUProfile writes, to a client that does not read for example: runtime/pprof makes all
// others wait.
const stopGrace = 500 * time.Millisecond

// Profiler measures the process, window after window, and gives each window's profile to its
// exporter. It is safe for concurrent use.
type Profiler struct {
	lanes     *exporter.Multi
	reporter  report.Reporter
	config    config
	disabled  bool
	metrics   []metric.Int64Counter // one for each of counters
	published atomic.Pointer[Status]
	unclosed  atomic.Int64 // how many windows Shutdown has not closed (yet)

	flushes chan chan struct{} // closed by the loop after its next rotation
	calls   chan func()        // run by the loop
	stop    chan struct{}      // closed by Shutdown
	done    chan struct{}      // closed when the loop has ended
	ending  atomic.Bool        // Shutdown was called
	shut    chan struct{}      // closed when Shutdown is over

	// Only the loop uses these, and New before it.
	streams  []*stream // one for each kind, CPU last
	cpu      *cpu
	wall     *wallClock
	schedule schedule
	due      time.Time // the end of the open windows
	windows  uint64
	skipped  uint64
	closing  bool // Shutdown was called
}

// New returns a Profiler that measures from now on, in windows. It owns exp, and Shutdown
// shuts exp down. New returns an error if an option is invalid or the MeterProvider fails;
// then it does not touch exp.
//
// Another CPU profile in the process is no error: the Profiler skips CPU windows until it
// ends, see [Status]. While such a profile is being written it is unknown whether it still
// runs. If that takes more than half a second New returns, and the windows open afterwards.
//
// If profiling is disabled by the environment nothing is measured.
func New(exp exporter.Exporter, opts ...Option) (*Profiler, error) {
	if exp == nil {
		return nil, errors.New("profiler: exporter is nil: the profiles need a destination")
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics()
	if err != nil {
		return nil, err
	}
	p := &Profiler{
		lanes:    exporter.NewMulti(exp),
		config:   c,
		disabled: env.Off(c.optIn),
		metrics:  metrics,
		flushes:  make(chan chan struct{}),
		calls:    make(chan func()),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		shut:     make(chan struct{}),
		cpu:      newCPU(c),
		wall:     newWallClock(c.wallBudget),
	}
	p.publish()
	if p.disabled {
		close(p.done)
		return p, nil
	}
	opened := make(chan struct{})
	go p.loop(opened)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-opened:
	case <-timer.C:
	}
	return p, nil
}

// Flush closes the open windows now, opens the next, and returns when every exporter has the
// profiles. It returns ctx's error if it ends first, exporter.ErrShutdown, and the errors of the
// exporters: of a ForceFlush, and that profiles were lost since the last Flush, with the
// reason. The loss goes to otel.Handle too, when it happens, and is counted in Status. The
// error handler may call Flush and Shutdown; an exporter may not.
//
// Each end of a window makes a profile. So Flush is for tests and for people in front of a
// page. It does nothing if profiling is disabled by the environment.
func (p *Profiler) Flush(ctx context.Context) error {
	select {
	case <-p.stop:
		return exporter.ErrShutdown
	default:
	}
	if p.disabled {
		return nil
	}
	rotated := make(chan struct{})
	select {
	case p.flushes <- rotated:
	case <-p.done:
		return exporter.ErrShutdown
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-rotated:
	case <-p.done:
		return exporter.ErrShutdown
	case <-ctx.Done():
		return ctx.Err()
	}
	err := p.lanes.ForceFlush(ctx)
	select {
	case <-p.stop:
		if err != nil {
			return exporter.ErrShutdown
		}
	default:
	}
	return err
}

// Shutdown closes the open windows, exports them and shuts the exporter down. It returns the
// errors of the exporters, as Flush does. If ctx ends first, the errors have the number of
// profiles that each exporter has left. Closing the windows takes a few milliseconds, and
// more if all cores are busy. Shutdown waits for that for half a second at most, even if ctx
// has ended: no CPU profile must stay on. A CPU window cannot be closed while another
// StopCPUProfile does not return. Shutdown then waits two seconds with the other windows
// closed, and reports the missing one. It also waits until otel.Handle has returned from the
// last reports, for half a second at most.
//
// It ends the calls of Profile that share its windows. So shut the Profiler down before an
// http.Server with handlers that call Profile. Later calls wait for the first, and return nil
// or the error of ctx. A call by the error handler waits until the first no longer waits for
// the handler.
func (p *Profiler) Shutdown(ctx context.Context) error {
	if p.ending.Swap(true) {
		select {
		case <-p.shut:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer close(p.shut)
	var errs []error
	if !p.disabled {
		p.unclosed.Store(int64(len(p.config.kinds)))
	}
	close(p.stop)
	if !p.disabled {
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
