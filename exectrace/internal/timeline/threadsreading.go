// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/hex"
	"time"

	exptrace "golang.org/x/exp/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// threadsReading is Threads that are read.
type threadsReading struct {
	*Threads
	maxBytes int64
	first    int64 // the time of the first Sync
	newest   int64 // that of the last one that begins a part
	last     int64 // that of the event before
	moved    bool  // the event was earlier than the reader of traces says
	cut      bool  // to maxBytes
	began    bool
	gap      bool
	syncs    int
	clocks   bool // the trace's clock is the system's
}

func (s *threadsReading) event(e *exptrace.Event) {
	now := int64(e.Time())
	// An event may have to come after one of another thread whose time is later, as that
	// thread was taken away while it wrote it. The reader moves it then to 1 ns after the
	// event before. Other times are 64 ns apart on Linux.
	s.moved, s.last = now == s.last+1, now
	switch e.Kind() {
	case exptrace.EventStackSample: // may be from before the trace
		return
	case exptrace.EventSync:
		s.sync(now, e.Sync().ClockSnapshot)
		return
	case exptrace.EventRangeBegin:
		s.gap = s.gap || s.syncs > 1 && e.Range().Name == "stop-the-world (start trace)"
	}
	if !s.began {
		s.begin(now)
	}
	if now <= s.until {
		return // known from the recording before
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
	for keep := (s.until - s.from) / 2; s.used > s.maxBytes && keep > 0; keep /= 2 {
		s.forget(s.until - keep)
		s.cut = true
	}
}

// begin forgets what is older than the recording, or all where it does not go on from the one
// before. The times of two parts of a recording overlap: it is not enough that the one begins
// before the other's end.
func (s *threadsReading) begin(now int64) {
	s.began = true
	if s.threads == nil || s.first > s.part {
		*s.Threads = Threads{threads: map[int64]*thread{}, goroutines: map[exptrace.GoID]*carried{}, from: now, until: now - 1}
	}
	s.forget(now)
}

// mostBetween is how long the runtime may take between two times of a snapshot of the
// clocks. Clocks that are further apart are different ones.
const mostBetween = int64(10 * time.Second)

// sync begins a part of the recording, or ends it where there is no snapshot. It checks that
// the trace's clock is the system's monotonic one. The time of a Sync is before that of the
// first event.
func (s *threadsReading) sync(now int64, snapshot *exptrace.ClockSnapshot) {
	if s.syncs++; s.syncs == 1 {
		s.first = now
	}
	if snapshot != nil {
		between := int64(snapshot.Trace) - int64(snapshot.Mono) // which is read first
		s.clocks = between > -1000 && between < mostBetween
		s.newest = now
	}
}

// setClock finds when the monotonic clock was 0.
func (s *threadsReading) setClock() error {
	if !s.clocks || goruntime.Unknown() != nil {
		return errNoClock
	}
	s.wall = ReadClock()
	return nil
}

func (s *threadsReading) goroutine(id exptrace.GoID) *carried {
	g := s.goroutines[id]
	if g == nil {
		g = new(carried)
		s.goroutines[id] = g
	}
	return g
}

// put says that a goroutine is on a thread.
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

// takeOff says that a goroutine is on no thread. What a thread does without a goroutine is
// the scheduler's, and of no span.
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

// inherited returns what a new goroutine carries: the labels of the one that created it, or
// nothing if that was the scheduler, or if it is one of the runtime's own.
func (s *threadsReading) inherited(e *exptrace.Event, st *exptrace.StateTransition, to exptrace.GoState) label {
	function := ""
	for f := range st.Stack.Frames() {
		function = f.Func
	}
	creator, at := s.goroutines[e.Goroutine()], ""
	for f := range e.Stack().Frames() {
		at = f.Func
		break
	}
	switch {
	case ofRuntime(function):
		return label{held: heldNone}
	case to.Executing(), at == "runtime.systemstack_switch", at == "time.goFunc":
		return label{} // C code calls Go, or a timer does in some goroutine's place
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
