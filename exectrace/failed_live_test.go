// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	"errors"
	rtrace "runtime/trace"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// A recording that could not be read is given up, and none that came after it, unless no
// other could be read either.
func TestFailedReading(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		next   bool // recording began anew while it was read
		goesOn bool
	}{
		{"damaged", &ParseError{Err: timeline.ErrGap}, false, false},
		{"damaged, and another one is on", &ParseError{Err: timeline.ErrGap}, true, true},
		{"a panic, and another one is on", timeline.ErrPanic, true, true},
		{"of another Go, and another one is on", &FormatError{}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			r := recordByHand(t, now)
			r.readsOn()
			if test.next {
				r.halt(now, ErrForeignStop, 0)
				now = now.Add(time.Second)
				r.begin(now)
			}
			r.pending.add(slowSpan{id: "0123456789abcdef", ended: now})
			r.hasRead(now, reading{err: test.err})
			if on := r.flight.on(); on != test.goesOn {
				t.Errorf("it records: %t, want %t", on, test.goesOn)
			}
			if _, waits := r.pending.due(); waits != test.goesOn {
				t.Errorf("the slow span waits: %t, want %t", waits, test.goesOn)
			}
		})
	}
}

// While another trace keeps the recording from being stopped, a reading that says that no
// recording can be read makes the pause longer.
func TestFailedReadingWhileHalted(t *testing.T) {
	now := time.Now()
	r := recordByHand(t, now)
	r.readsOn()
	end := foreign(t)
	defer end()
	r.halt(now, &BudgetError{}, leastPause)
	r.hasRead(now, reading{err: &FormatError{}})
	if got := r.Status(); !r.flight.on() || !rtrace.IsEnabled() || !got.Until.Equal(now.Add(mostPause)) {
		t.Errorf("status %+v, want a pause of %v", got, mostPause)
	}
	if _, ok := errors.AsType[*FormatError](r.Status().Err); !ok {
		t.Errorf("error %v, want a FormatError", r.Status().Err)
	}
}

// foreign has another execution trace on until the function that it returns is called.
func foreign(t *testing.T) (end func()) {
	t.Helper()
	if err := rtrace.Start(&meter{}); err != nil {
		t.Fatal(err)
	}
	return rtrace.Stop
}
