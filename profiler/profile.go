// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

var (
	// ErrCPUInUse is returned by Profile while something else in the process has the
	// CPU profiler.
	ErrCPUInUse = errors.New("profiler: another cpu profile is running in this process")
	// ErrNotMeasured is returned by Profile for a kind that the Profiler does not measure
	// now.
	ErrNotMeasured = errors.New("profiler: kind is not measured")
)

// Profile writes the profile of a kind in the next d to w, in the pprof format. The runtime
// allows one CPU profile at a time, so handlers and the program's own code use Profile: it
// shares the samples of the Profiler's windows. Any number of calls may run at once. The windows
// lack nothing because of them.
//
// A CPU profile has the samples with times in d, to within the time between two samples, 10 ms.
// The runtime continues to take samples. Only after idle time, when the process has used some
// CPU time since, it may stop for about 0.1 ms. For wall time, and samples without times (see
// [Status].CPU), the ends of calls are shared, at least a second apart. Then the profile begins
// at most a second before the call. It ends at most a second (for d below 5 s: a fifth of d)
// before d is over, or up to a second after.
//
// The profile is shorter, without an error, if the Profiler is shut down meanwhile. So it is if
// the program takes the CPU profiler away. Its duration is the measured time.
//
// Profile returns ErrCPUInUse, ErrNotMeasured, ctx's error if it ends first, or an error of w.
// It returns an error for all kinds except CPU and wall. It writes nothing before the profile
// is whole.
func (p *Profiler) Profile(ctx context.Context, w io.Writer, k exporter.Kind, d time.Duration) error {
	switch {
	case w == nil:
		return errors.New("profiler: writer is nil: the profile needs a destination")
	case d <= 0:
		return fmt.Errorf("profiler: cannot profile for %v: use a positive duration", d)
	case k != exporter.KindCPU && k != exporter.KindWall:
		return fmt.Errorf("profiler: kind %q cannot be profiled for a time, use %q or %q", k, exporter.KindCPU, exporter.KindWall)
	case p.disabled || !slices.Contains(p.config.kinds, k):
		return ErrNotMeasured
	}
	select {
	case <-p.stop:
		return ErrNotMeasured
	default:
	}
	t := newTap(d)
	joined := make(chan error, 1)
	select {
	case p.calls <- func() { joined <- p.attach(k, t) }:
	case <-p.done:
		return ErrNotMeasured
	case <-ctx.Done():
		return ctx.Err()
	}
	defer t.gone.Store(true)
	select {
	case err := <-joined:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return t.write(ctx, w)
}

// attach makes t a tap of a kind's stream. The loop calls it.
func (p *Profiler) attach(k exporter.Kind, t *tap) error {
	s := p.stream(k)
	t.slack = min(t.slack, s.apart())
	if time.Since(s.edge) >= s.apart() {
		p.cut(s)
	}
	if k == exporter.KindCPU && !p.cpu.measuring() {
		return ErrCPUInUse
	}
	s.taps = append(s.taps, t)
	return nil
}

// maxPieces is how many pieces a tap keeps before it merges them. So the profile of a day
// needs memory for its different stacks only.
const maxPieces = 8

// tap collects the pieces of a stream for one caller of Profile.
type tap struct {
	until time.Time
	slack time.Duration // how much before until it may end
	gone  atomic.Bool   // the caller has returned
	more  chan struct{} // has a token when there are pieces to merge
	done  chan struct{} // closed after the last piece

	mu     sync.Mutex
	pieces []*exporter.Profile
}

func newTap(d time.Duration) *tap {
	return &tap{until: time.Now().Add(d), slack: min(time.Second, d/5), more: make(chan struct{}, 1), done: make(chan struct{})}
}

// give adds a piece. It does not wait for the caller.
func (t *tap) give(p *exporter.Profile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pieces = append(t.pieces, p)
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// over ends the tap if a cut at now is the end that it needs.
func (t *tap) over(now time.Time) bool {
	if t.until.Sub(now) > t.slack {
		return false
	}
	close(t.done)
	return true
}

// write waits for the last piece and writes the sum.
func (t *tap) write(ctx context.Context, w io.Writer) error {
	for waits := true; waits; {
		select {
		case <-t.more:
			if err := t.compact(maxPieces); err != nil {
				return err
			}
		case <-t.done:
			waits = false
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := t.compact(1); err != nil {
		return err
	}
	if len(t.pieces) == 0 {
		return ErrCPUInUse // since the call began
	}
	b, err := t.pieces[0].Pprof()
	if err != nil {
		return fmt.Errorf("profiler: %w", err)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("profiler: write %s profile: %w", t.pieces[0].Kind(), err)
	}
	return nil
}

// compact merges the pieces if there are at least n.
func (t *tap) compact(n int) error {
	t.mu.Lock()
	pieces := t.pieces
	if len(pieces) < n {
		t.mu.Unlock()
		return nil
	}
	t.pieces = nil
	t.mu.Unlock()
	sum, err := merge(pieces)
	if err != nil {
		return fmt.Errorf("profiler: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pieces = append([]*exporter.Profile{sum}, t.pieces...)
	return nil
}
