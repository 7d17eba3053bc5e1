// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/hex"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// mostBetween is the longest time between the clocks of one snapshot. Clocks further apart
// are different ones. On Linux the trace's clock is the system's monotonic one.
const mostBetween = int64(10 * time.Second)

// onThread puts the goroutine of an event on its thread.
func (s *reading) onThread(e *exptrace.Event) {
	if g := e.Goroutine(); s.threads != nil && e.Thread() != exptrace.NoThread && g != exptrace.NoGoroutine {
		s.put(s.now(e), e.Thread(), s.goroutine(g))
	}
}

// move follows a goroutine to a thread, or off its thread.
func (s *reading) move(index int32, e *exptrace.Event, from, to exptrace.GoState) {
	switch {
	case to.Executing():
		if e.Thread() != exptrace.NoThread {
			s.put(s.now(e), e.Thread(), index)
		}
	case from.Executing():
		s.takeOff(s.now(e), index)
	}
	if to == exptrace.GoNotExist {
		delete(s.byID, exptrace.GoID(s.Goroutines[index].ID))
	}
}

func (s *reading) put(now int64, id exptrace.ThreadID, index int32) {
	on := s.threads[int64(id)]
	if on == nil {
		on = &thread{on: None}
		s.threads[int64(id)] = on
	}
	if on.on == index {
		return
	}
	if on.on != None {
		s.Goroutines[on.on].thread = nil
	}
	s.takeOff(now, index)
	g := &s.Goroutines[index]
	on.on, g.thread = index, on
	s.set(on, now, g.label, false)
}

// takeOff removes a goroutine from its thread. The scheduler then runs there, for no span.
func (s *reading) takeOff(now int64, index int32) {
	if g := &s.Goroutines[index]; g.thread != nil {
		g.thread.on = None
		s.set(g.thread, now, label{held: heldNone}, false)
		g.thread = nil
	}
}

// set sets the label of a thread. After a moved event the time before it is unknown.
func (s *reading) set(on *thread, now int64, l label, byMark bool) {
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
	s.used += 2 * markBytes
}

// mark sets the label of a goroutine.
func (s *reading) mark(index int32, e *exptrace.Event, message exptrace.Log) {
	id, l := []byte(message.Message), label{}
	switch message.Category {
	case markSpan, markNext:
	case markLabel:
		id, _ = hex.DecodeString(message.Message) // a wrong length is unknown
		if message.Message == "" {
			l.held = heldNone
		}
	default:
		return
	}
	if len(id) == len(l.id) {
		l.held, l.id = heldSpan, [8]byte(id)
	}
	g := &s.Goroutines[index]
	if g.label = l; g.thread != nil {
		s.set(g.thread, s.now(e), l, true)
	}
}
