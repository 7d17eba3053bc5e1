// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	"context"
	"errors"
	"io"
	"runtime"
	rtrace "runtime/trace"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/store"
)

// recordThreads starts a Recorder.
func recordThreads(t *testing.T) *Recorder {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Start(sdktrace.NewTracerProvider(), s, WithBudget(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A page that somebody looks at does not wait for a reading.
func TestLookDoesNotWait(t *testing.T) {
	threads := recordThreads(t).Threads()
	threads.mu.Lock()
	defer threads.mu.Unlock()
	threads.Look()
}

// A message may ask for many times: what cannot be answered is not read for again and again.
func TestReadingsAreApart(t *testing.T) {
	r := recordThreads(t)
	threads := r.Threads()
	threads.Look()
	if threads.SpanAt(1, time.Now().Add(time.Hour)); !threads.next.IsZero() {
		t.Error("the recording was read for a time that is not yet")
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if threads.SpanAt(1, before); threads.next.Sub(before) < readThreadsApart {
		t.Errorf("after a reading that failed the next is %v after its begin, want %v at least after its end", threads.next.Sub(before), readThreadsApart)
	}
}

// While another execution trace keeps Shutdown from ending the recording, nobody waits for it.
func TestNobodyWaitsForTheEnd(t *testing.T) {
	r := recordThreads(t)
	if err := rtrace.Start(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer rtrace.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Shutdown(ctx); err == nil {
		t.Fatal("Shutdown ended the recording beside another execution trace")
	}
	<-r.foreign
	if _, err := r.take(); !errors.Is(err, errNotRecording) {
		t.Errorf("error %v, want %v", err, errNotRecording)
	}
}

func busy(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

// After a step of the wall clock agents go on with the one before: nothing is known until they
// have noticed.
func TestClockSteps(t *testing.T) {
	r := recordThreads(t)
	threads := r.Threads()
	known := func() bool {
		t.Helper()
		threads.Look()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for started := time.Now(); time.Since(started) < time.Minute && !r.steps.doubtful(time.Now()); {
			rtrace.Log(t.Context(), "spanprof.label", "")
			busy(50 * time.Microsecond)
			at := time.Now()
			busy(50 * time.Microsecond)
			runtime.Gosched()
			if _, ok := threads.SpanAt(int64(syscall.Gettid()), at); ok {
				return true
			}
		}
		return false
	}
	step := func(by time.Duration) {
		r.steps.mu.Lock()
		defer r.steps.mu.Unlock()
		r.steps.last.Epoch = r.steps.last.Epoch.Add(by)
	}
	if !known() {
		t.Fatal("nothing is known before a step")
	}
	step(20 * time.Microsecond)
	if !known() {
		t.Fatal("nothing is known after a drift")
	}
	for _, by := range []time.Duration{time.Millisecond, -time.Hour} {
		step(by)
		if known() {
			t.Errorf("threads are known after a step by %v", by)
		}
		now := time.Now()
		if !r.steps.doubtful(now.Add(agentsNotice-time.Minute)) || r.steps.doubtful(now.Add(agentsNotice+time.Minute)) {
			t.Errorf("the step is not doubted for %v", agentsNotice)
		}
		r.steps.mu.Lock()
		r.steps.over = time.Time{}
		r.steps.mu.Unlock()
		if !known() {
			t.Errorf("nothing is known %v after a step", agentsNotice)
		}
	}
}
