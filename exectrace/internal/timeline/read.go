// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"errors"
	"fmt"
	"io"
	"math"

	exptrace "golang.org/x/exp/trace"
)

// What a Timeline keeps for each of these, in bytes. A slice that grows has room for
// twice as much.
const (
	segmentBytes   = 2 * 24
	goroutineBytes = 2*200 + 50
	spanBytes      = 2*80 + 50
	markBytes      = 2 * 16
)

// reading is a Timeline that is read.
type reading struct {
	*Timeline
	byID   map[exptrace.GoID]int32
	tasks  map[exptrace.TaskID]int32
	zero   exptrace.Time
	began  bool
	stops0 int64 // when the world was stopped; -1 while it is not
	used   int64
}

// ErrPanic is wrapped by errors that stand for a panic of the reader.
var ErrPanic = errors.New("the reader of execution traces panicked")

// Read reads a trace until its end, or until what it keeps takes maxBytes.
func Read(r io.Reader, maxBytes int64) (t *Timeline, err error) {
	// The reader trusts what it has validated, and panics where that was not enough.
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	events, err := exptrace.NewReader(r)
	if err != nil {
		return nil, err
	}
	s := &reading{
		Timeline: &Timeline{stacks: newStacks()},
		byID:     map[exptrace.GoID]int32{},
		tasks:    map[exptrace.TaskID]int32{},
		stops0:   -1,
	}
	for {
		event, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		s.event(&event)
		if s.used+s.stacks.bytes > maxBytes {
			s.Cut = true
			break
		}
	}
	s.finish()
	return s.Timeline, nil
}

func (s *reading) event(e *exptrace.Event) {
	if !s.began && e.Kind() != exptrace.EventSync {
		s.began, s.zero = true, e.Time()
	}
	if s.began {
		s.End = max(s.End, int64(e.Time()-s.zero))
	}
	switch e.Kind() {
	case exptrace.EventSync:
		s.sync(e)
	case exptrace.EventStateTransition:
		if st := e.StateTransition(); st.Resource.Kind == exptrace.ResourceGoroutine {
			s.transition(e, &st)
		}
	case exptrace.EventRangeBegin, exptrace.EventRangeActive, exptrace.EventRangeEnd:
		s.gcRange(e)
	case exptrace.EventTaskBegin:
		s.begin(e)
	case exptrace.EventTaskEnd:
		s.end(e)
	case exptrace.EventLog:
		s.log(e)
	}
}

func (s *reading) now(e *exptrace.Event) int64 { return max(0, int64(e.Time()-s.zero)) }

func (s *reading) sync(e *exptrace.Event) {
	s.stacks.newGeneration()
	if !s.began {
		s.zero = e.Time()
		s.began = s.zero != 0
	}
	if snapshot := e.Sync().ClockSnapshot; snapshot != nil && s.Wall.IsZero() {
		s.Wall = snapshot.Wall.Add(-snapshot.Trace.Sub(s.zero))
	}
}

// finish closes what is open.
func (s *reading) finish() {
	if s.stops0 >= 0 {
		s.stops = append(s.stops, interval{s.stops0, math.MaxInt64})
	}
	for i := range s.Spans {
		if span := &s.Spans[i]; !span.Ended {
			span.End = s.End
		}
	}
	for i := range s.Goroutines {
		s.Goroutines[i].open = nil
	}
}
