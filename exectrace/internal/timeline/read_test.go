// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// adder returns a function that gives the reading an event.
func adder(t *testing.T, s *reading) func(exptrace.Event, error) {
	return func(e exptrace.Event, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.event(&e)
	}
}

// A snapshot of the clocks may have a wall clock that is too early, never one that is too
// late.
func TestWall(t *testing.T) {
	zero := time.Unix(1_800_000_000, 0)
	s := newReading()
	add := adder(t, s)
	s.zero = 1000
	for n, late := range []time.Duration{50 * time.Millisecond, 0, 3 * time.Millisecond} {
		at := time.Duration(n) * time.Second
		add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Sync]{
			Kind: exptrace.EventSync,
			Time: exptrace.Time(1000 + at),
			Details: exptrace.Sync{N: n + 1, ClockSnapshot: &exptrace.ClockSnapshot{
				Trace: exptrace.Time(1000 + at),
				Wall:  zero.Add(at - late),
			}},
		}))
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
	add := adder(t, s)
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
		s := newReading()
		for n := range generations {
			e, err := exptrace.MakeEvent(exptrace.EventConfig[exptrace.Sync]{
				Kind: exptrace.EventSync, Time: exptrace.Time(n + 1), Details: exptrace.Sync{N: n + 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			if s.gap(&e) {
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
			if got := s.gap(&e); got != want {
				t.Errorf("%s in generation %d: a gap: %t, want %t", name, generations, got, want)
			}
		}
	}
}

// An assist that each generation of the trace repeats has one end.
func TestAssist(t *testing.T) {
	s := newReading()
	add := adder(t, s)
	add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.StateTransition]{
		Kind: exptrace.EventStateTransition, Time: 1000, Goroutine: 1, Details: exptrace.MakeGoStateTransition(1, exptrace.GoUndetermined, exptrace.GoRunning),
	}))
	for i, kind := range []exptrace.EventKind{exptrace.EventRangeBegin, exptrace.EventRangeActive, exptrace.EventRangeEnd} {
		add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Range]{
			Kind: kind, Time: exptrace.Time(1010 + 10*i), Goroutine: 1,
			Details: exptrace.Range{Name: "GC mark assist", Scope: exptrace.MakeResourceID(exptrace.GoID(1))},
		}))
	}
	var got []Segment
	for _, segment := range s.Goroutines[0].Segments {
		got = append(got, Segment{Start: segment.Start, State: segment.State})
	}
	if want := []Segment{{State: Running}, {Start: 10, State: Assist}, {Start: 30, State: Running}}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Only a goroutine that is ready loses time by a stop of the world.
func TestStops(t *testing.T) {
	s := newReading()
	add := adder(t, s)
	change := func(at exptrace.Time, from, to exptrace.GoState) {
		add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.StateTransition]{
			Kind: exptrace.EventStateTransition, Time: at, Goroutine: 1, Details: exptrace.MakeGoStateTransition(1, from, to),
		}))
	}
	world := func(at exptrace.Time, kind exptrace.EventKind) {
		add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Range]{
			Kind: kind, Time: at, Goroutine: 2,
			Details: exptrace.Range{Name: "stop-the-world (GC mark termination)", Scope: exptrace.MakeResourceID(exptrace.GoID(2))},
		}))
	}
	change(1000, exptrace.GoUndetermined, exptrace.GoRunning)
	world(1005, exptrace.EventRangeEnd) // it began before the trace
	world(1010, exptrace.EventRangeBegin)
	change(1020, exptrace.GoRunning, exptrace.GoRunnable)
	world(1050, exptrace.EventRangeEnd)
	change(1070, exptrace.GoRunnable, exptrace.GoRunning)
	world(1080, exptrace.EventRangeBegin)
	change(1090, exptrace.GoRunning, exptrace.GoRunnable)
	change(1100, exptrace.GoRunnable, exptrace.GoRunning)
	s.finish()
	var got []string
	s.Pieces(s.byID[1], 0, 100, func(p Piece) bool {
		got = append(got, fmt.Sprintf("%v until %d", p.State, p.End))
		return true
	})
	want := []string{"running until 20", "stop-the-world until 50", "runnable until 70", "running until 90", "stop-the-world until 100"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
