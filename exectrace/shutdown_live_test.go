// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"context"
	"errors"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

// stuckWriter takes what is written to it until it is stuck, then nothing until free is closed.
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

// The writer of another execution trace keeps the runtime waiting, and the recorder with it:
// Shutdown ends nevertheless.
func TestShutdownBesideAStuckTrace(t *testing.T) {
	r := record(t)
	w := &stuckWriter{free: make(chan struct{})}
	timeout := time.After(deadline)
	for err := rtrace.Start(w); err != nil; err = rtrace.Start(w) {
		select {
		case <-timeout:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	release := sync.OnceFunc(func() {
		close(w.free)
		rtrace.Stop()
	})
	t.Cleanup(release) // before that of the recorder, whatever fails
	w.stuck.Store(true)
	r.until(t, "a look at the recording that waits for the other trace", func() bool {
		if !w.waits.Load() {
			return false
		}
		for stack := range strings.SplitSeq(stacks(t), "\n\n") {
			if strings.Contains(stack, "exectrace.(*flight).write(") {
				return true
			}
		}
		return false
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan error, 1)
	go func() { done <- r.Shutdown(ctx) }()
	select {
	case err := <-done:
		// The stack may have been that of a look which was just about to end.
		if !errors.Is(err, context.Canceled) && !errors.Is(err, exectrace.ErrForeignTrace) {
			t.Errorf("error %v, want that of the context", err)
		}
	case <-timeout:
		t.Error("Shutdown goes on after the end of its context")
	}
	release()
	if err := r.Shutdown(t.Context()); err != nil || rtrace.IsEnabled() {
		t.Errorf("error %v; a trace is on: %t", err, rtrace.IsEnabled())
	}
}
