// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/hex"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// threadsReading reads a recording into Threads.
type threadsReading struct {
	Threads
	goroutines map[exptrace.GoID]*carried
	last       int64 // the time of the event before
	moved      bool  // the event is older than the reader's time
	began      bool
	clocks     bool // the trace's clock is the system's
}

func newThreadsReading() *threadsReading {
	return &threadsReading{Threads: Threads{threads: map[int64]*thread{}}, goroutines: map[exptrace.GoID]*carried{}}
}

func (s *threadsReading) event(e *exptrace.Event) {
	now := int64(e.Time())
	// A preempted thread writes its event late. Then the reader moves dependent older events to
	// 1 ns after it. Other times are 64 ns apart on Linux.
	s.moved, s.last = now == s.last+1, now
	switch e.Kind() {
	case exptrace.EventStackSample: // may be from before the trace
		return
	case exptrace.EventSync:
		s.sync(e.Sync().ClockSnapshot)
		return
	}
	if !s.began {
		s.began, s.from = true, now
	}
	s.until = now
	if on, g := e.Thread(), e.Goroutine(); on != exptrace.NoThread && g != exptrace.NoGoroutine {
		s.put(now, on, g)
	}
	switch e.Kind() {
	case exptrace.EventStateTransition:
		if st := e.StateTransition(); st.Resource.Kind == exptrace.ResourceGoroutine {
			s.transition(now, e, &st)
		}
	case exptrace.EventLog:
		s.log(now, e)
	}
	if on := s.threads[int64(e.Thread())]; on != nil && !s.moved {
		on.seen = now
	}
}

// mostBetween is the longest time between the clocks of one snapshot. Clocks further apart
// are different ones.
const mostBetween = int64(10 * time.Second)

// sync begins a part of the recording, or ends it without a snapshot. It checks that the
// trace's clock is the system's monotonic one.
func (s *threadsReading) sync(snapshot *exptrace.ClockSnapshot) {
	if snapshot != nil {
		between := int64(snapshot.Trace) - int64(snapshot.Mono) // Mono is read first
		s.clocks = between > -1000 && between < mostBetween
	}
}

func (s *threadsReading) goroutine(id exptrace.GoID) *carried {
	g := s.goroutines[id]
	if g == nil {
		g = new(carried)
		s.goroutines[id] = g
	}
	return g
}

// set sets the label of a thread. After a moved event the time before it is unknown.
func (s *threadsReading) set(on *thread, now int64, l label, byMark bool) {
	since, n := on.seen, len(on.changes)
	if n > 0 {
		if on.changes[n-1].label == l {
			return
		}
		since = max(since, on.changes[n-1].at)
	}
	if s.moved {
		on.changes = append(on.changes, change{at: since})
	}
	on.changes = append(on.changes, change{now, l, byMark})
}

// put puts a goroutine on a thread.
func (s *threadsReading) put(now int64, id exptrace.ThreadID, goroutine exptrace.GoID) {
	on := s.threads[int64(id)]
	if on == nil {
		on = &thread{on: exptrace.NoGoroutine}
		s.threads[int64(id)] = on
	}
	if on.on == goroutine {
		return
	}
	if before := s.goroutines[on.on]; before != nil {
		before.thread = nil
	}
	g := s.goroutine(goroutine)
	s.takeOff(now, g)
	on.on, g.thread = goroutine, on
	s.set(on, now, g.label, false)
}

// takeOff removes a goroutine from its thread. The scheduler then runs there, for no span.
func (s *threadsReading) takeOff(now int64, g *carried) {
	if g.thread != nil {
		g.thread.on = exptrace.NoGoroutine
		s.set(g.thread, now, label{held: heldNone}, false)
		g.thread = nil
	}
}

func (s *threadsReading) transition(now int64, e *exptrace.Event, st *exptrace.StateTransition) {
	id := st.Resource.Goroutine()
	from, to := st.Goroutine()
	if from == exptrace.GoNotExist {
		s.goroutine(id).label = s.inherited(e, st, to)
	}
	switch {
	case to.Executing():
		if e.Thread() != exptrace.NoThread {
			s.put(now, e.Thread(), id)
		}
	case from.Executing():
		s.takeOff(now, s.goroutine(id))
	}
	if to == exptrace.GoNotExist {
		delete(s.goroutines, id)
	}
}

// inherited returns the label of a new goroutine: its creator's. Goroutines of the scheduler
// and of the runtime have none.
func (s *threadsReading) inherited(e *exptrace.Event, st *exptrace.StateTransition, to exptrace.GoState) label {
	function, at := "", ""
	for f := range st.Stack.Frames() {
		function = f.Func
	}
	for f := range e.Stack().Frames() {
		at = f.Func
		break
	}
	creator := s.goroutines[e.Goroutine()]
	switch {
	case ofRuntime(function):
		return label{held: heldNone}
	case to.Executing(), at == "runtime.systemstack_switch", at == "time.goFunc":
		return label{} // C code calls Go, or a timer runs on any goroutine
	case e.Goroutine() == exptrace.NoGoroutine:
		return label{held: heldNone}
	case creator == nil:
		return label{}
	}
	return creator.label
}

// log reads the marks of spanprof.
func (s *threadsReading) log(now int64, e *exptrace.Event) {
	message := e.Log()
	l := label{}
	switch message.Category {
	case markSpan, markNext:
		if copy(l.id[:], message.Message) == len(message.Message) && len(message.Message) == len(l.id) {
			l.held = heldSpan
		}
	case markLabel:
		if message.Message == "" {
			l.held = heldNone
		} else if id, err := hex.DecodeString(message.Message); err == nil && len(id) == len(l.id) {
			l.held = heldSpan
			copy(l.id[:], id)
		}
	default:
		return
	}
	if e.Goroutine() == exptrace.NoGoroutine {
		return
	}
	g := s.goroutine(e.Goroutine())
	if g.label = l; g.thread != nil {
		s.set(g.thread, now, l, true)
	}
}
