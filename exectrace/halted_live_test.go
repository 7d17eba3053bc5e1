// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	"context"
	"errors"
	rtrace "runtime/trace"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// A pause for the budget lasts until what was being read then is paid too, however that ended.
func TestPausePaysForTheReading(t *testing.T) {
	for _, test := range []struct {
		name string
		done reading
	}{
		{"abandoned", reading{bytes: 1000, cpu: 500 * time.Millisecond, err: context.Canceled}},
		{"abandoned, where only the bytes tell what it cost", reading{bytes: 10_000_000, err: context.Canceled}},
		{"damaged", reading{bytes: 1000, cpu: 500 * time.Millisecond, err: &ParseError{Err: timeline.ErrGap}}},
		{"read just before the pause", reading{bytes: 1000, cpu: 500 * time.Millisecond}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			r := recordByHand(t, now)
			r.readsOn()
			r.config.maxBytes = leastBytes
			flood(t, 2000)
			now = now.Add(lookEvery)
			r.step(now)
			before := r.Status()
			left := r.budget.left
			r.hasRead(now, test.done)
			if paid := left - r.budget.left; paid < 450*time.Millisecond {
				t.Errorf("the budget has paid %v", paid)
			}
			got := r.Status()
			if before.State != Paused || got.State != Paused || got.Err != before.Err || !got.Until.Equal(r.resume) { //nolint:errorlint // the same one
				t.Errorf("status %+v, then %+v, want one pause", before, got)
			}
			const rounding = time.Millisecond
			if r.budget.fill(got.Until); r.budget.left < r.budget.most()-rounding {
				t.Errorf("the pause is from %v to %v, and there is %v of %v then", before.Until, got.Until, r.budget.left, r.budget.most())
			}
		})
	}
}

// Slow spans that wait for a recording which is given up are counted by why it was.
func TestSpansOfAHalt(t *testing.T) {
	for _, test := range []struct {
		err  error
		want counter
	}{
		{&BudgetError{}, overBudget},
		{ErrForeignStop, notRecording},
		{&ParseError{Err: timeline.ErrGap}, unreadable},
		{&FormatError{}, unreadable},
	} {
		now := time.Now()
		r := recordByHand(t, now)
		r.pending.add(slowSpan{id: "0123456789abcdef", ended: now})
		r.halt(now, test.err, 0)
		for c := stored; c < readings; c++ {
			want := uint64(0)
			if c == test.want {
				want = 1
			}
			if got := r.accounts.values[c].Load(); got != want {
				t.Errorf("%v: counter %q: %d, want %d", test.err, counterTexts[c].text, got, want)
			}
		}
	}
}

// The status says that another trace keeps the flight recorder on, for as long as it does.
func TestStatusBesideAForeignTrace(t *testing.T) {
	now := time.Now()
	r := recordByHand(t, now)
	end := foreign(t)
	why := &BudgetError{}
	r.halt(now, why, leastPause)
	for range 3 {
		if got := r.Status(); got.State != Paused || !errors.Is(got.Err, why) || !errors.Is(got.Err, ErrForeignTrace) {
			t.Errorf("status %+v, want a pause and ErrForeignTrace", got)
		}
		now = now.Add(lookEvery)
		r.step(now)
	}
	end()
	r.step(now)
	if got := r.Status(); got.State != Paused || got.Err != why || r.flight.on() { //nolint:errorlint // that alone
		t.Errorf("status %+v, want a pause for %v alone", got, why)
	}
}

// What another trace keeps on costs after a foreign stop, too: recording does not begin anew in
// debt.
func TestNoRecordingInDebt(t *testing.T) {
	now := time.Now()
	r := recordByHand(t, now)
	end := foreign(t)
	r.halt(now, ErrForeignStop, 0)
	r.budget.left = -time.Second
	now = now.Add(lookEvery)
	r.step(now)
	if got := r.Status(); got.Until.Before(now.Add(time.Minute)) {
		t.Errorf("status %+v, want more than a minute until a second is paid", got)
	}
	end()
	if r.step(now); r.flight.on() {
		t.Errorf("it records with %v", r.budget.left)
	}
}

// Nor does it where a reading took more than was thought, and a foreign stop comes before the
// next look at what recording costs.
func TestForeignStopInDebt(t *testing.T) {
	now := time.Now()
	r := recordByHand(t, now)
	r.readsOn()
	r.hasRead(now, reading{bytes: 1000, cpu: r.budget.left + 500*time.Millisecond})
	rtrace.Stop()
	r.step(now)
	if got := r.Status(); !errors.Is(got.Err, ErrForeignStop) || got.Until.Before(now.Add(time.Minute)) {
		t.Errorf("status %+v, want more than a minute until half a second is paid", got)
	}
	if r.step(now); r.flight.on() {
		t.Errorf("it records with %v", r.budget.left)
	}
}

// A recording of an unknown format that was read does not undo what longer and longer pauses
// have led to.
func TestFailedReadingWhileOff(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		now := time.Now()
		r := recordByHand(t, now)
		r.readsOn()
		end := func() {}
		if !stopped {
			end = foreign(t)
		}
		r.budget.doubled = mostDoubled
		r.halt(now, &BudgetError{}, leastPause)
		if got := r.Status().State; got != Off {
			t.Fatalf("state %q, want %q", got, Off)
		}
		r.hasRead(now, reading{err: &FormatError{}})
		got := r.Status()
		if _, ok := errors.AsType[*FormatError](got.Err); !ok || got.State != Off || !got.Until.Equal(now.Add(mostPause)) || r.flight.on() == stopped {
			t.Errorf("status %+v, want %q for a FormatError for %v", got, Off, mostPause)
		}
		end()
	}
}

// A damaged recording is none of the pauses that become longer.
func TestDamagedRecordingIsNotOff(t *testing.T) {
	now := time.Now()
	r := recordByHand(t, now)
	defer foreign(t)() // otherwise another recording begins at once
	r.budget.doubled = mostDoubled
	r.halt(now, &ParseError{Err: timeline.ErrGap}, 0)
	if got := r.Status().State; got != Paused {
		t.Errorf("state %q, want %q", got, Paused)
	}
}

// While Shutdown waits for a reading alone, nothing says that the flight recorder is on.
func TestShutdownWhileReading(t *testing.T) {
	for _, beside := range []bool{false, true} {
		r := recordByHand(t, time.Now())
		tp := sdktrace.NewTracerProvider()
		r.tp, r.processor = tp, processor{r}
		r.stop, r.foreign, r.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
		u := &underway{abandon: func(error) {}, ended: make(chan reading)}
		r.underway = u
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		end := func() {}
		if beside {
			end = foreign(t)
		}
		go r.run()
		// A busy machine may keep run from hearing of Shutdown for longer than that waits.
		r.once.Do(func() { close(r.stop) })
		for r.Status().State != Stopped {
			<-time.After(stopEvery)
		}
		if beside {
			if err := r.Shutdown(ended); !errors.Is(err, ErrForeignTrace) || r.Status().Err != ErrForeignTrace { //nolint:errorlint // that alone
				t.Errorf("beside a foreign trace: error %v, %+v", err, r.Status())
			}
			end()
			for r.Status().Err != nil {
				<-time.After(stopEvery)
			}
		}
		err := r.Shutdown(ended)
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrForeignTrace) || strings.Contains(err.Error(), "recorder is on") {
			t.Errorf("error %v, want that of the context, and that a recording is read", err)
		}
		if got := r.Status(); got.State != Stopped || got.Err != nil {
			t.Errorf("status %+v, want %q", got, Stopped)
		}
		u.ended <- reading{}
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Where nothing is recorded any more, whoever asks for threads hears so at once.
func TestTakeWhileShuttingDown(t *testing.T) {
	r := newTestRecorder(t)
	r.asks, r.stop, r.done = make(chan ask), make(chan struct{}), make(chan struct{})
	close(r.stop) // and run waits for a reading
	if _, err := r.take(); !errors.Is(err, errNotRecording) {
		t.Errorf("error %v, want %v", err, errNotRecording)
	}
}
