// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"testing"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// A snapshot of the clocks may have a wall clock that is too early, never one that is too
// late.
func TestWall(t *testing.T) {
	zero := time.Unix(1_800_000_000, 0)
	s := newReading()
	s.zero = 1000
	for n, late := range []time.Duration{50 * time.Millisecond, 0, 3 * time.Millisecond} {
		at := time.Duration(n) * time.Second
		e, err := exptrace.MakeEvent(exptrace.EventConfig[exptrace.Sync]{
			Kind: exptrace.EventSync,
			Time: exptrace.Time(1000 + at),
			Details: exptrace.Sync{N: n + 1, ClockSnapshot: &exptrace.ClockSnapshot{
				Trace: exptrace.Time(1000 + at),
				Wall:  zero.Add(at - late),
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.event(&e)
	}
	s.finish()
	if !s.Wall.Equal(zero) {
		t.Errorf("the trace began at %v, want %v", s.Wall, zero)
	}
}

// The trace begins with its first event. Earlier are its preparation by the runtime, and CPU
// samples that were taken before and written late. The time in between is unknown.
func TestBegin(t *testing.T) {
	s := newReading()
	add := func(e exptrace.Event, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.event(&e)
	}
	add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Sync]{Kind: exptrace.EventSync, Time: 1000, Details: exptrace.Sync{N: 1}}))
	add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.StackSample]{Kind: exptrace.EventStackSample, Time: 2000}))
	add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Task]{
		Kind: exptrace.EventTaskBegin, Time: 400_000_000, Goroutine: 1,
		Details: exptrace.Task{ID: 1, Type: "GET /"},
	}))
	if len(s.Spans) != 1 || s.Spans[0].Start != 0 || s.End != 0 {
		t.Errorf("spans %+v of a trace until %d, want one at 0 of a trace until 0", s.Spans, s.End)
	}
}

// A trace that was stopped and restarted has no events from the gap.
func TestGap(t *testing.T) {
	for generations := range 3 {
		var g gaps
		for n := range generations {
			e, err := exptrace.MakeEvent(exptrace.EventConfig[exptrace.Sync]{
				Kind: exptrace.EventSync, Time: exptrace.Time(n + 1), Details: exptrace.Sync{N: n + 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			if g.in(&e) {
				t.Errorf("generation %d is a gap", n)
			}
		}
		for name, want := range map[string]bool{"stop-the-world (start trace)": generations > 1, "stop-the-world (read mem stats)": false} {
			e, err := exptrace.MakeEvent(exptrace.EventConfig[exptrace.Range]{
				Kind: exptrace.EventRangeBegin, Time: 10,
				Details: exptrace.Range{Name: name, Scope: exptrace.MakeResourceID(exptrace.GoID(1))},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := g.in(&e); got != want {
				t.Errorf("%s in generation %d: a gap: %t, want %t", name, generations, got, want)
			}
		}
	}
}
