// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

// works makes spans wait for a lock until one has exact times.
func (r *recorded) works(t *testing.T) {
	t.Helper()
	before := r.counter(t, "slow spans with exact times")
	r.until(t, "another span with exact times", func() bool {
		r.waitForLock(t)
		return r.counter(t, "slow spans with exact times") > before
	})
}

// foreign starts an execution trace beside the recorder. While the recorder stops, a trace of
// its own is on, so it tries again.
func foreign(t *testing.T, w io.Writer) {
	t.Helper()
	timeout := time.After(deadline)
	for err := rtrace.Start(w); err != nil; err = rtrace.Start(w) {
		select {
		case <-timeout:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
}

// Shutdown leaves a foreign trace on, and waits for its end.
func TestShutdownBesideAForeignTrace(t *testing.T) {
	for name, stops := range map[string]bool{"beside": false, "after a foreign stop": true} {
		t.Run(name, func(t *testing.T) {
			again(t, func(t *testing.T) bool {
				r := record(t)
				if stops {
					rtrace.Stop()
				}
				var log bytes.Buffer
				foreign(t, &log)
				end := sync.OnceFunc(rtrace.Stop)
				t.Cleanup(end) // before the recorder's
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				err := r.Shutdown(ctx)
				if err == nil && r.counter(t, "recordings lost") > 0 {
					return false // it noticed the foreign Stop in between
				}
				if !errors.Is(err, exectrace.ErrForeignTrace) {
					t.Errorf("got error %v, want ErrForeignTrace", err)
				}
				if !rtrace.IsEnabled() {
					t.Error("the foreign trace has ended")
				}
				_, last := begin("the last")
				last()
				end()
				if err := r.Shutdown(t.Context()); err != nil || rtrace.IsEnabled() {
					t.Errorf("got error %v; a trace is on: %t", err, rtrace.IsEnabled())
				}
				a := readable(t, log.Bytes(), exectrace.Query{Name: "the last"})
				if a == nil {
					return false
				}
				if len(a.Spans) != 1 || a.Spans[0].Open {
					t.Error("the foreign trace lacks its end")
				}
				return true
			})
		})
	}
}

// A foreign Stop, then a foreign Start: the recording has a gap, and gives no span times.
func TestForeignStopAndStart(t *testing.T) {
	r := record(t, exectrace.WithThreshold(slow), exectrace.WithBudget(1))
	r.waitForLock(t)
	rtrace.Stop()
	foreign(t, io.Discard)
	span, _ := r.waitForLock(t)
	r.until(t, "an outcome", func() bool { return r.outcomes() > 0 || r.counter(t, "recordings lost") > 0 })
	if r.times(t, span) != nil && r.counter(t, "recordings lost") == 0 {
		t.Error("a span has times of a recording with a gap")
	}
	if !rtrace.IsEnabled() {
		t.Error("the foreign trace has ended")
	}
	rtrace.Stop()
	r.works(t)
}

// Another flight recorder is waited for.
func TestSecondRecorder(t *testing.T) {
	other := rtrace.NewFlightRecorder(rtrace.FlightRecorderConfig{})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	r := record(t, exectrace.WithThreshold(slow), exectrace.WithBudget(1))
	if got := r.Status(); got.Recording || got.Err == nil || !strings.Contains(got.Err.Error(), "another flight recorder") {
		t.Errorf("got status %+v, want no recording beside another flight recorder", got)
	}
	r.waitForLock(t)
	if got := r.counter(t, "slow spans while recording was off"); got != 2 {
		t.Errorf("got %d slow spans while recording was off, want 2", got)
	}
	other.Stop()
	r.works(t)
}

// stuckWriter blocks once stuck is set, until free is closed.
type stuckWriter struct {
	stuck, waits atomic.Bool
	free         chan struct{}
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	if w.stuck.Load() {
		w.waits.Store(true)
		<-w.free
	}
	return len(p), nil
}

// The blocked writer of another execution trace blocks the recorder. Shutdown and Threads
// return anyway, with that trace as the reason.
func TestBesideAStuckTrace(t *testing.T) {
	r := record(t)
	w := &stuckWriter{free: make(chan struct{})}
	foreign(t, w)
	release := sync.OnceFunc(func() {
		close(w.free)
		rtrace.Stop()
	})
	t.Cleanup(release) // before the recorder's
	w.stuck.Store(true)
	r.until(t, "a blocked look", func() bool {
		return w.waits.Load() && strings.Contains(stacks(t), "exectrace.(*flight).write(")
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Shutdown(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, exectrace.ErrForeignTrace) {
		t.Errorf("got error %v, want the context's", err)
	}
	release()
	if err := r.Shutdown(t.Context()); err != nil || rtrace.IsEnabled() {
		t.Errorf("got error %v; a trace is on: %t", err, rtrace.IsEnabled())
	}
}

// A recording that exceeds the budget stops.
func TestStopForTheBudget(t *testing.T) {
	r := record(t, exectrace.WithThreshold(time.Hour), exectrace.WithBudget(0.0001))
	r.until(t, "a stop", func() bool { return errors.Is(r.Status().Err, exectrace.ErrBudget) })
	if got := r.Status(); rtrace.IsEnabled() || time.Until(got.Until) <= 0 {
		t.Errorf("got status %+v; a trace is on: %t", got, rtrace.IsEnabled())
	}
}
