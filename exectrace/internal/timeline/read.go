// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

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

// eventsApart is how many events are read between calls of stopped: a tenth of a
// millisecond or so.
const eventsApart = 1000

// reading is a Timeline that is read.
type reading struct {
	*Timeline
	byID   map[exptrace.GoID]int32
	tasks  map[exptrace.TaskID]int32
	zero   exptrace.Time // of the first event
	epoch  time.Time     // the wall clock's at time 0 of the trace's
	began  bool
	stops0 int64 // when the world was stopped; -1 while it is not
	used   int64
	syncs  int
	gap    bool
}

func newReading() *reading {
	return &reading{
		Timeline: &Timeline{stacks: newStacks()},
		byID:     map[exptrace.GoID]int32{},
		tasks:    map[exptrace.TaskID]int32{},
		stops0:   -1,
	}
}

// ErrPanic is wrapped by errors that stand for a panic of the reader.
var ErrPanic = errors.New("the reader of execution traces panicked")

// ErrGap says that tracing was stopped and started again within a trace, as it happens to a
// flight recorder when something else calls runtime/trace.Stop: nothing says what was in
// between.
var ErrGap = errors.New("tracing was stopped and started again in between")

// Read reads a trace until its end, or until what it keeps takes maxBytes. Soon after stopped
// returns an error it returns that.
func Read(r io.Reader, maxBytes int64, stopped func() error) (t *Timeline, err error) {
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
	s := newReading()
	for n := 0; ; n++ {
		if n%eventsApart == 0 {
			if err := stopped(); err != nil {
				return nil, err
			}
		}
		event, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if s.event(&event); s.gap {
			return nil, ErrGap
		}
		if s.used+s.stacks.bytes > maxBytes {
			s.Cut = true
			break
		}
	}
	s.finish()
	return s.Timeline, nil
}

func (s *reading) event(e *exptrace.Event) {
	// Samples of a CPU profile may be from before the trace: the runtime writes them late.
	if e.Kind() == exptrace.EventStackSample {
		return
	}
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

// sync begins a part of the trace. Its own time is before that of the first event, by up to
// some 100 ms on a busy machine: the runtime prepares the part first.
func (s *reading) sync(e *exptrace.Event) {
	s.stacks.newGeneration()
	s.syncs++
	// The runtime reads the wall clock first, and the trace's some time later if the thread
	// is taken away in between: the snapshot that makes the start the latest is the best.
	if snapshot := e.Sync().ClockSnapshot; snapshot != nil {
		if epoch := snapshot.Wall.Add(-time.Duration(snapshot.Trace)); epoch.After(s.epoch) {
			s.epoch = epoch
		}
	}
}

// finish closes what is open.
func (s *reading) finish() {
	if s.stops0 >= 0 {
		s.stops = append(s.stops, interval{s.stops0, math.MaxInt64})
	}
	if wall := s.epoch.Add(time.Duration(s.zero)); !s.epoch.IsZero() && wall.Year() <= 9999 { // as much as JSON has
		s.Wall = wall
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
