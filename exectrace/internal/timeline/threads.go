// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/hex"
	"errors"
	"io"
	"math"
	"sort"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// slackOfSwitch is the largest time in ns between a switch of goroutines and its event.
	slackOfSwitch = 1000
	// slackOfMark is the largest time in ns between a change of labels and its mark: the
	// runtime takes the mark's stack in between.
	slackOfMark = 3000

	// agentsNotice is the time until an agent has noticed a step of the wall clock.
	// OpenTelemetry's agent compares the clocks every three minutes.
	agentsNotice = 4 * time.Minute
	// leastStep is the smallest step. The separate clocks of a sandbox drift by less.
	leastStep = 100 * time.Microsecond
)

// Threads are the spans of each thread of the process over time, by the labels of its
// goroutines. Package spanprof marks each change of the label span_id in the trace. Labels of
// other code are not in a trace.
//
// Times are nanoseconds of the trace's clock. On Linux that is the system's monotonic clock.
type Threads struct {
	threads     map[int64]*thread
	zero, until int64 // of the recording

	wall     clock
	doubtful time.Time // until then an agent's times may be wrong
}

// label is the span in a goroutine's labels.
type label struct {
	held held
	id   [8]byte // of heldSpan
}

type held uint8

const (
	heldUnknown held = iota
	heldNone
	heldSpan
)

// change is the label of a thread since a time.
type change struct {
	at int64 // since the recording's first event
	label
	byMark bool
}

type thread struct {
	changes []change
	on      int32 // its goroutine, or None
	seen    int64 // the time of its last event with an exact time
}

// errNoClock means that the recording's clock may not be the system's.
var errNoClock = errors.New("the trace's clock is unknown: Linux and a known Go runtime are required")

// Read reads a recording of this process in the place of the one before, as function Read does.
// After an error nothing is known.
func (t *Threads) Read(r io.Reader, maxBytes int64) error {
	t.Forget()
	s := newReading()
	s.threads = map[int64]*thread{}
	if err := s.read(r, maxBytes); err != nil {
		return err
	}
	if !s.clocks || goruntime.Unknown() != nil {
		return errNoClock
	}
	t.threads, t.zero, t.until = s.threads, int64(s.zero), s.End
	t.set(readClock(), time.Now())
	return nil
}

// Forget frees the memory of the recording. The clock stays, to notice a step.
func (t *Threads) Forget() { t.threads, t.zero, t.until = nil, 0, 0 }

// set sets the clock, and notices a step since the last reading.
func (t *Threads) set(c clock, now time.Time) {
	if !t.wall.epoch.IsZero() && c.epoch.Sub(t.wall.epoch).Abs() > leastStep+c.bound+t.wall.bound {
		t.doubtful = now.Add(agentsNotice)
	}
	t.wall = c
}

// Until returns the end of the known time by the wall clock.
func (t *Threads) Until() time.Time { return t.wall.epoch.Add(time.Duration(t.zero + t.until)) }

// SpanAt returns the id of the span in a thread's labels at a time of the wall clock. It has
// hexadecimal digits, or is "" without a span. known is false if that is uncertain.
func (t *Threads) SpanAt(id int64, at time.Time) (span string, known bool) {
	on, now := t.threads[id], int64(at.Sub(t.wall.epoch))-t.zero
	if on == nil || now <= 0 || now >= t.until || at.Before(t.doubtful) {
		return "", false
	}
	clockError := int64(t.wall.bound)
	i := sort.Search(len(on.changes), func(i int) bool { return on.changes[i].at > now }) - 1
	if i < 0 || on.changes[i].held == heldUnknown || now-on.changes[i].at < slackOfSwitch+clockError {
		return "", false
	}
	if i+1 < len(on.changes) {
		slack := int64(slackOfSwitch)
		if on.changes[i+1].byMark {
			slack = slackOfMark
		}
		if on.changes[i+1].at-now < slack+clockError {
			return "", false
		}
	}
	if on.changes[i].held == heldSpan {
		return hex.EncodeToString(on.changes[i].id[:]), true
	}
	return "", true
}

// clock is the wall clock at time 0 of the system's monotonic clock. A step of the wall clock
// and a sleep of the machine change it. Slewing does not: it affects both clocks.
type clock struct {
	epoch time.Time
	bound time.Duration // of its error
}

// goodError is a sufficiently small error of a clock.
const goodError = 500 * time.Nanosecond

// readClock reads the clocks. It must not be called while goruntime.Unknown returns an error.
//
// The snapshots of a trace lack the time between the readings of the two clocks. Here the
// monotonic clock is read before and after: the best try takes a fraction of a microsecond.
func readClock() clock {
	c := clock{bound: math.MaxInt64}
	for tries := 0; tries < 50 && c.bound > goodError; tries++ {
		before := goruntime.Nanotime()
		wall := time.Now()
		if took := time.Duration(goruntime.Nanotime() - before); took < c.bound {
			c = clock{wall.Round(0).Add(-time.Duration(before) - took/2), took}
		}
	}
	return c
}
