// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

var (
	// ErrCPUInUse is returned by Profile while a CPU profile runs in the
	// process that this Profiler did not start and cannot share.
	ErrCPUInUse = errors.New("profiler: another cpu profile is running in this process")
	// ErrNotEnabled is returned by Profile for a kind other than CPU that
	// the Profiler does not measure now.
	ErrNotEnabled = errors.New("profiler: kind is not enabled")
	// ErrUnknownKind is returned for a kind that there is no sampler for,
	// and by Profile also for those that are measured, but not for a time
	// that a caller chooses: all except CPU and wall.
	ErrUnknownKind = errors.New("profiler: wrong kind")
)

// shared are the kinds of which Profile writes pieces: the sum of two of their
// profiles is the profile of both times.
var shared = []exporter.Kind{exporter.KindCPU, exporter.KindWall}

// Profile writes what a kind measures in the next d to w, in the pprof format,
// and returns when that is done. It is for the program's own code and for
// handlers, since the runtime allows one CPU profile at a time: Profile shares
// the samples of the Profiler's own windows, and any number of calls may run at
// once. Nothing is missing from the windows because of them.
//
// Where samples have times (see CPUFallback of [Status]) a profile of CPU begins and ends
// when it is to, by up to the time between two samples, 10 ms, more or less. Otherwise
// its beginning and end are cuts of the runtime's profile, which loses the samples of
// about 20 ms for all; cuts are a second apart at least, and shared, as they
// are for wall time. So the profile begins at most a second before the call, and ends
// at most a second (for d below 5 s: a fifth of d) before d is over, or, where the last
// cut was less than a second ago, up to a second after. It is shorter,
// without an error, when the Profiler is shut down or the kind disabled meanwhile, or
// when the program takes the CPU profiler away; the duration inside the profile
// tells.
//
// The kinds that are shared are CPU and wall. While the Profiler does not profile
// the CPU, because it was not started for example, Profile runs a CPU profile of
// its own.
//
// Profile returns ErrCPUInUse, ErrNotEnabled or ErrUnknownKind, ctx's error if
// it ends first, an error of w, or one that says what is wrong with a nil w or a
// d that is not positive; it writes nothing before the profile is whole.
func (p *Profiler) Profile(ctx context.Context, w io.Writer, k exporter.Kind, d time.Duration) error {
	if w == nil {
		return errors.New("profiler: writer is nil: the profile needs somewhere to go")
	}
	if d <= 0 {
		return fmt.Errorf("profiler: cannot profile for %v: use a positive duration", d)
	}
	if !slices.Contains(shared, k) {
		return fmt.Errorf("%w: %q cannot be profiled for a time, use one of %q", ErrUnknownKind, k, shared)
	}
	t := newTap(d)
	if k == exporter.KindCPU {
		t.slack = min(t.slack, p.cpu.apart())
	}
	switch err := p.listen(ctx, k, t); {
	case err == nil:
		return t.write(ctx, w)
	case !errors.Is(err, ErrNotEnabled) || k != exporter.KindCPU:
		return err
	}
	return p.profileCPU(ctx, w, d)
}

// listen makes t a tap of a kind's stream. It returns ErrNotEnabled if there is
// nothing to share.
func (p *Profiler) listen(ctx context.Context, k exporter.Kind, t *tap) error {
	p.mu.Lock()
	running := p.state == running
	p.mu.Unlock()
	if !running {
		return ErrNotEnabled
	}
	joined := make(chan bool, 1)
	err := p.do(ctx, func(g *grid) { joined <- p.attach(g, k, t) })
	switch {
	case errors.Is(err, ErrShutdown):
		return ErrNotEnabled
	case err != nil:
		t.gone.Store(true)
		return err
	case !<-joined:
		return ErrNotEnabled
	}
	return nil
}

// attach runs in the loop.
func (p *Profiler) attach(g *grid, k exporter.Kind, t *tap) bool {
	i := slices.IndexFunc(p.streams, func(s *stream) bool { return s.kind == k })
	if i < 0 {
		return false
	}
	s := p.streams[i]
	if time.Since(s.edge) >= s.apart() || !p.measuring(s) {
		p.cut(g, s)
	}
	if !p.measuring(s) {
		return false
	}
	s.taps = append(s.taps, t)
	return true
}

// measuring reports whether a piece of s is open.
func (p *Profiler) measuring(s *stream) bool {
	return s.kind != exporter.KindCPU || p.cpu.measuring()
}

// write waits for the last piece and writes the sum.
func (t *tap) write(ctx context.Context, w io.Writer) error {
	defer t.gone.Store(true)
	for {
		select {
		case <-t.more:
			if err := t.compact(); err != nil {
				return fmt.Errorf("profiler: %w", err)
			}
			continue
		case <-t.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		break
	}
	pieces := t.take(1)
	if pieces == nil {
		// Somebody took the CPU profiler away as soon as it began.
		return ErrCPUInUse
	}
	sum, err := merge(pieces)
	if err != nil {
		return fmt.Errorf("profiler: %w", err)
	}
	b, err := sum.Pprof()
	if err != nil {
		return fmt.Errorf("profiler: %w", err)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("profiler: write %s profile: %w", sum.Kind(), err)
	}
	return nil
}

// profileCPU runs a CPU profile of its own.
func (p *Profiler) profileCPU(ctx context.Context, w io.Writer, d time.Duration) error {
	hz, _ := p.cpu.rate()
	c := newCPU(nil, hz)
	c.read = p.cpu.read
	_, c.fallback = p.cpu.rate()
	c.patience = math.MaxInt64 // its caller has a context
	// A goroutine of its own, because it waits for who is just stopping
	// another profile, for as long as he likes.
	opened := make(chan error)
	go func() {
		err := c.start()
		select {
		case opened <- err:
		case <-ctx.Done():
			if err == nil {
				_, _ = c.stop()
			}
		}
	}()
	select {
	case err := <-opened:
		if err != nil {
			return ErrCPUInUse
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	own := newTap(d)
	written := make(chan error)
	go func() { written <- own.write(ctx, w) }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	var missing error
	give := func(piece *exporter.Profile, err error) {
		missing = errors.Join(missing, err)
		own.give(piece)
	}
	for ended := false; !ended; {
		select {
		case <-c.open.full():
			give(c.cut())
		case <-timer.C:
			ended = true
		case <-ctx.Done():
			ended = true
		}
	}
	// A stop by somebody else makes the profile shorter and is no error.
	give(c.stop())
	close(own.done)
	p.reportMissing(c, missing)
	return <-written
}

// reportMissing deals with the samples that c, which has taken a profile of its own, has not
// in it.
func (p *Profiler) reportMissing(c *cpu, err error) {
	p.cpu.dropped.Add(c.dropped.Load())
	if errors.Is(err, cpulog.ErrRecord) {
		err = errors.Join(err, p.cpu.fallBack(cpulog.ErrRecord))
	} else if c.dropped.Load() == 0 {
		return
	}
	otel.Handle(fmt.Errorf("profiler: %w", err))
}
