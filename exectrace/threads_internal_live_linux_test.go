// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	"context"
	"errors"
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
		if err := errors.Join(r.Shutdown(context.Background()), s.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A message may have many times: after a failure the recording is not read for each.
func TestReadingsAreApart(t *testing.T) {
	r := recordThreads(t)
	threads := r.Threads()
	threads.Look()
	if threads.SpanAt(1, time.Now().Add(time.Hour)); !threads.next.IsZero() {
		t.Error("the recording was read for a time in the future")
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if threads.SpanAt(1, before); threads.next.Sub(before) < readThreadsApart {
		t.Errorf("the next reading is %v after a failure, want at least %v", threads.next.Sub(before), readThreadsApart)
	}
}

// A step of the clock is noticed by the clock at the reading before, also after a pause of Look.
func TestClockStaysWithoutLook(t *testing.T) {
	threads := recordThreads(t).Threads()
	data, err := threads.recorder.take()
	if err == nil {
		err = threads.read.Read(data, keptPerByte*threads.recorder.config.maxBytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	if threads.SpanAt(1, time.Now()); threads.read.Until().IsZero() {
		t.Error("the clock is lost")
	}
}

// A reading of threads is paid from the budget, and leaves the reserve.
func TestThreadsCountInTheBudget(t *testing.T) {
	r := recordThreads(t)
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.begin(time.Now())
	defer r.flight.stop()
	before := r.budget.left
	if got := r.answer(r.budget.filled); got.err != nil || got.recording.Len() == 0 {
		t.Fatalf("got error %v", got.err)
	}
	if paid := before - r.budget.left; paid <= 0 {
		t.Errorf("paid %v", paid)
	}
	r.budget.bytes, r.budget.left = 1_000_000, 40*time.Millisecond // a reading costs 45 ms
	if got := r.answer(r.budget.filled); !errors.Is(got.err, errUntaken) {
		t.Errorf("got error %v without money, want errUntaken", got.err)
	}
}
