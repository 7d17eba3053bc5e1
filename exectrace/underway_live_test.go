// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	"bytes"
	"context"
	"errors"
	rtrace "runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/store"
)

// recordByHand starts a Recorder at a time. The test itself makes its steps.
func recordByHand(t *testing.T, now time.Time) *Recorder {
	t.Helper()
	return recordWithin(t, now, usualBytes)
}

// recordWithin does so with a flight recorder that keeps so many bytes of a window. The recorder
// itself has room for usualBytes.
func recordWithin(t *testing.T, now time.Time, most int64) *Recorder {
	t.Helper()
	if rtrace.IsEnabled() {
		loudskip.Test(t, "go test -trace has an execution trace on already")
	}
	r := newTestRecorder(t)
	r.config.share, r.config.window, r.pending.window = defaultShare, defaultWindow, defaultWindow
	r.budget = newBudget(defaultShare, defaultWindow)
	r.config.maxBytes = most
	r.begin(now)
	r.config.maxBytes = usualBytes
	t.Cleanup(func() {
		for !r.flight.stop() {
			<-time.After(stopEvery)
		}
		r.reporter.Wait(context.Background())
	})
	return r
}

// readsOn has a reading under way that does not end unless it is abandoned.
func (r *Recorder) readsOn() (reads context.Context) {
	reads, abandon := context.WithCancelCause(context.Background())
	u := &underway{abandon: abandon, ended: make(chan reading, 1), since: r.budget.since}
	context.AfterFunc(reads, func() { u.ended <- reading{err: reads.Err()} })
	r.underway = u
	return reads
}

// flood writes so many kilobytes, and some more, into the execution trace.
func flood(t *testing.T, kilobytes int) {
	t.Helper()
	message := strings.Repeat("m", 1000)
	for range kilobytes {
		rtrace.Log(t.Context(), "flood", message)
	}
}

// A flood of events ends recording at the first look at it, and a reading that is under way.
func TestPauseWhileReading(t *testing.T) {
	for _, test := range []struct {
		name      string
		megabytes int
		looks     int // until it pauses
		over      bool
	}{
		{"for the budget, by 1e6 channel operations", 50, 1, true},
		{"for the bytes", 10, 1, false},
		{"for the bytes of two seconds", 5, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			// The runtime begins a part of the recording each second. If a flood takes longer,
			// its last part alone may be too large for more. It costs less than all parts.
			r, looks := recordWithin(t, now, 1<<30), 0
			reads := r.readsOn()
			for ; r.Status().State == Recording && looks <= test.looks; looks++ {
				flood(t, test.megabytes*1000)
				// A slow span does not have a second reading begin.
				r.pending.add(slowSpan{id: "0123456789abcdef", ended: now.Add(-gather), duration: time.Second})
				if now = r.next(); !now.Equal(r.look) {
					t.Fatalf("the next step is at %v, want the look at %v", now, r.look)
				}
				r.step(now)
			}
			t.Logf("%d looks, %+v", looks, r.Status())
			err, ok := errors.AsType[*BudgetError](context.Cause(reads))
			if r.Status().State == Recording || !ok || looks > test.looks {
				t.Fatalf("%+v after %d looks, the reading: %v; want a pause after %d", r.Status(), looks, context.Cause(reads), test.looks)
			}
			if (err.MaxBytes == 0) != test.over {
				t.Errorf("%v", err)
			}
			if r.flight.on() || rtrace.IsEnabled() {
				t.Error("it records")
			}
			left := r.budget.left
			r.hasRead(now, <-r.underway.outcome())
			if r.underway != nil || r.budget.left != left {
				t.Errorf("after the reading: %+v, and the budget paid %v", r.underway, left-r.budget.left)
			}
		})
	}
}

// unlessItStalls repeats a test until it returns true. The test returns false if the machine
// stalled, and nothing was tested.
func unlessItStalls(t *testing.T, test func(t *testing.T) bool) {
	t.Helper()
	bound := livetest.Context(t, livetest.Most)
	for tries, tested := 0, false; !tested; tries++ {
		if bound.Err() != nil {
			t.Fatalf("got %d tries, in which the machine stalled, want one without", tries)
		}
		if !t.Run("try", func(t *testing.T) { tested = test(t) }) {
			return
		}
	}
}

// No recording is read while it grows as in a flood: the slow spans wait until it does not.
func TestNoReadingInAFlood(t *testing.T) { unlessItStalls(t, testNoReadingInAFlood) }

// testNoReadingInAFlood returns false where the machine stalls: what comes in 100 ms is no flood
// if it comes in more.
func testNoReadingInAFlood(t *testing.T) bool {
	now := time.Now()
	r := recordByHand(t, now)
	var err error
	if r.store, err = store.New(); err != nil {
		t.Fatal(err)
	}
	r.pending.add(slowSpan{id: "0123456789abcdef", ended: now})
	for i, test := range []struct {
		kilobytes int
		reads     bool
	}{{0, false}, {800, false}, {800, false}, {100, true}} { // the first step is the look before
		flood(t, test.kilobytes)
		if now = r.next(); i > 0 && now.After(r.look.Add(lookBefore-lookEvery)) {
			t.Errorf("step %d is %v after the last look", i, now.Sub(r.look.Add(-lookEvery)))
		}
		from := time.Now()
		r.step(now)
		if time.Since(from) > lookBefore/2 {
			r.end()
			return false
		}
		if reads := r.underway != nil; reads != test.reads {
			t.Fatalf("step %d: a recording of %d bytes is read: %t, want %t", i, r.budget.bytes, reads, test.reads)
		}
	}
	if got := r.pending.add(slowSpan{ended: now}); got != tooSoon {
		t.Errorf("a slow span just after a reading has begun: outcome %d, want that it is too soon", got)
	}
	done := <-r.underway.outcome()
	if damaged, ok := errors.AsType[*ParseError](done.err); ok && !errors.Is(damaged, timeline.ErrGap) && !errors.Is(damaged, timeline.ErrPanic) {
		t.Logf("THE RUNTIME WROTE A RECORDING BADLY: %v", damaged) // see readable
		return false
	}
	r.hasRead(now, done)
	if got := r.accounts.values[noRecord].Load() + r.accounts.values[notInTrace].Load(); got != 1 || r.Status().State != Recording {
		t.Errorf("%d spans were looked for, want 1; %+v", got, r.Status())
	}
	return true
}

// No reading begins if a look and the reading are due at once, as in a goroutine that woke late.
func TestNoReadingInAFloodJustLookedAt(t *testing.T) {
	unlessItStalls(t, testNoReadingInAFloodJustLookedAt)
}

// testNoReadingInAFloodJustLookedAt returns false where the look takes so long that what came
// until its end is no flood.
func testNoReadingInAFloodJustLookedAt(t *testing.T) bool {
	now := time.Now()
	r := recordByHand(t, now)
	r.pending.add(slowSpan{id: "0123456789abcdef", ended: now})
	r.budget.share = 1 // the budget has room for the flood, and for a reading
	r.budget.left = r.budget.most()
	flood(t, 7000) // what threads do not fill of their buffers comes on top
	at := now.Add(lookEvery + time.Second/2)
	if due, ok := r.readNext(); !ok || due.After(at) {
		t.Fatal("no reading is due")
	}
	from := time.Now()
	r.step(at)
	if r.budget.bytesPerSecond <= r.config.maxBytes/2 && time.Since(from) > lookBefore {
		r.end()
		return false
	}
	if r.underway != nil || r.Status().State != Recording {
		t.Errorf("read: %t, %+v, want no reading while %d bytes come each second", r.underway != nil, r.Status(), r.budget.bytesPerSecond)
	}
	return true
}

// While another trace keeps the recording from being stopped, the recorder looks at it once a
// second. Wakeups cause no looks.
func TestLooksWhileHalted(t *testing.T) {
	now := time.Now()
	r := recordByHand(t, now)
	defer foreign(t)()
	r.halt(now, &BudgetError{}, leastPause)
	looks, last := 0, r.last
	for range 50 {
		now = now.Add(lookEvery / 10)
		r.step(now)
		if r.last != last {
			looks, last = looks+1, r.last
		}
	}
	if looks < 4 || looks > 5 {
		t.Errorf("%d looks in 5 seconds, want 5", looks)
	}
}

// A reading that is abandoned ends, and its spans are counted.
func TestAbandonedReading(t *testing.T) {
	whole, tl := readRecording(t)
	// stopped is called at the beginning, within the recording, and when that is read.
	for ends := range 3 {
		calls := 0
		a, err := Analyze(bytes.NewReader(whole), quickly, until(func() error {
			if calls++; calls > ends {
				return errNotRecording
			}
			return nil
		}))
		if !errors.Is(err, errNotRecording) || a != nil {
			t.Errorf("stopped after %d calls: error %v", ends, err)
		}
	}
	for _, test := range []struct {
		cause error
		why   counter
	}{{&BudgetError{}, overBudget}, {errNotRecording, notRecording}} {
		r := newTestRecorder(t)
		ctx, abandon := context.WithCancelCause(t.Context())
		abandon(test.cause)
		err := r.keep(ctx, bytes.NewBuffer(whole), taken{spans: []slowSpan{{id: spanID(&tl.Spans[0])}, {id: spanID(&tl.Spans[1])}}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		for c := range counters {
			want := uint64(0)
			if c == test.why {
				want = 2
			}
			if got := r.accounts.values[c].Load(); got != want {
				t.Errorf("%v: counter %q: %d, want %d", test.cause, counterTexts[c].text, got, want)
			}
		}
	}
}

// Shutdown has a reading end, and waits for that.
func TestEndWhileReading(t *testing.T) {
	r := recordByHand(t, time.Now())
	reads := r.readsOn()
	r.end()
	if !errors.Is(context.Cause(reads), errNotRecording) || r.Status().State != Stopped {
		t.Errorf("the reading: %v, %+v", context.Cause(reads), r.Status())
	}
	select {
	case <-r.underway.ended:
		t.Error("nobody waited for the reading")
	default:
	}
}
