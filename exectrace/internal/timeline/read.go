// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// The memory of each in bytes. A growing slice has up to twice the capacity.
const (
	segmentBytes   = 2 * 24
	goroutineBytes = 2*224 + 50
	spanBytes      = 2*80 + 50
	markBytes      = 2 * 16
	stopBytes      = 2 * 16
	// allocationBytes is the memory of an allocation.
	allocationBytes = 2 * 16
)

// reading is an unfinished Timeline, or unfinished Threads.
type reading struct {
	*Timeline
	byID  map[exptrace.GoID]int32
	tasks map[exptrace.TaskID]int32
	zero  exptrace.Time // of the first event
	epoch time.Time     // the wall clock at time 0 of the trace's clock
	began bool
	used  int64
	heap  uint64 // its size at the last event

	generations int

	threads map[int64]*thread // nil for a Timeline
	clocks  bool              // the trace's clock is the system's
	last    exptrace.Time     // of the event before
	moved   bool              // the event is older than the reader's time
}

func newReading() *reading {
	return &reading{
		Timeline: &Timeline{stacks: newStacks()},
		byID:     map[exptrace.GoID]int32{},
		tasks:    map[exptrace.TaskID]int32{},
	}
}

// ErrPanic wraps a panic of the reader.
var ErrPanic = errors.New("the reader of execution traces panicked")

// errGap means that tracing stopped and started again within a trace. A foreign call of
// runtime/trace.Stop does that to a flight recorder.
var errGap = errors.New("tracing was stopped and started again in between")

// ErrFormat means that the input is no execution trace, or one of an unknown or old format. The
// reader of Go 1.21 and older would take the whole trace into memory.
var ErrFormat = errors.New("no execution trace of Go 1.22 to 1.27")

// checkFormat checks the header of a trace.
func checkFormat(r *bufio.Reader) error {
	header, err := r.Peek(16)
	if len(header) < 16 && !errors.Is(err, io.EOF) {
		return err
	}
	switch string(header) {
	case "go 1.22 trace\x00\x00\x00", "go 1.23 trace\x00\x00\x00", "go 1.25 trace\x00\x00\x00",
		"go 1.26 trace\x00\x00\x00": // Go 1.24 writes 1.23, Go 1.27 writes 1.26
		return nil
	}
	return fmt.Errorf("%w: it begins with %q", ErrFormat, header)
}

// Read reads a trace to its end, or until it takes maxBytes of memory.
func Read(r io.Reader, maxBytes int64) (*Timeline, error) {
	s := newReading()
	if err := s.read(r, maxBytes); err != nil {
		return nil, err
	}
	s.finish()
	return s.Timeline, nil
}

func (s *reading) read(r io.Reader, maxBytes int64) (err error) {
	// The reader panics on some damaged traces.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	whole := bufio.NewReader(r)
	if err := checkFormat(whole); err != nil {
		return err
	}
	events, err := exptrace.NewReader(whole)
	if err != nil {
		return err
	}
	for s.used+s.stacks.bytes <= maxBytes {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if s.gap(&e) {
			return errGap
		}
		s.event(&e)
	}
	s.Cut = true
	return nil
}

// gap finds gaps by the generations of a trace: only the first one starts a trace.
func (s *reading) gap(e *exptrace.Event) bool {
	if e.Kind() == exptrace.EventSync {
		s.generations++
	}
	return s.generations > 1 && e.Kind() == exptrace.EventRangeBegin && e.Range().Name == "stop-the-world (start trace)"
}

func (s *reading) event(e *exptrace.Event) {
	// A preempted thread writes its event late. Then the reader moves dependent older events to
	// 1 ns after it. Other times are 64 ns apart on Linux.
	s.moved, s.last = e.Time() == s.last+1, e.Time()
	// Samples of a CPU profile are written late: they may be from before the trace.
	if e.Kind() == exptrace.EventStackSample {
		return
	}
	if !s.began && e.Kind() != exptrace.EventSync {
		s.began, s.zero = true, e.Time()
	}
	if s.began {
		s.End = max(s.End, int64(e.Time()-s.zero))
	}
	if e.Kind() != exptrace.EventSync {
		s.onThread(e)
	}
	switch e.Kind() {
	case exptrace.EventSync:
		s.sync(e)
	case exptrace.EventStateTransition:
		if st := e.StateTransition(); st.Resource.Kind == exptrace.ResourceGoroutine {
			s.transition(e, &st)
		}
	case exptrace.EventLog:
		s.log(e)
	}
	if s.threads != nil {
		if on := s.threads[int64(e.Thread())]; on != nil && !s.moved && e.Kind() != exptrace.EventSync {
			on.seen = s.now(e)
		}
		return
	}
	switch e.Kind() {
	case exptrace.EventRangeBegin, exptrace.EventRangeActive, exptrace.EventRangeEnd:
		s.gcRange(e)
	case exptrace.EventMetric:
		s.metric(e)
	case exptrace.EventTaskBegin:
		s.begin(e)
	case exptrace.EventTaskEnd:
		s.end(e)
	}
}

func (s *reading) now(e *exptrace.Event) int64 { return max(0, int64(e.Time()-s.zero)) }

// sync begins a part of the trace. It is up to some 100 ms older than the first event: the
// runtime prepares the part first.
func (s *reading) sync(e *exptrace.Event) {
	clear(s.stacks.known) // ids of another generation
	// The runtime reads the wall clock first. The thread may be preempted before it reads the
	// trace's clock. So the snapshot with the latest epoch is the best.
	if snapshot := e.Sync().ClockSnapshot; snapshot != nil {
		if epoch := snapshot.Wall.Add(-time.Duration(snapshot.Trace)); epoch.After(s.epoch) {
			s.epoch = epoch
		}
		between := int64(snapshot.Trace) - int64(snapshot.Mono) // Mono is read first
		s.clocks = between > -1000 && between < mostBetween
	}
}

// finish closes open spans.
func (s *reading) finish() {
	if wall := s.epoch.Add(time.Duration(s.zero)); !s.epoch.IsZero() && wall.Year() <= 9999 { // the maximum of JSON
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
