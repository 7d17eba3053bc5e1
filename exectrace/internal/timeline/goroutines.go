// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"sort"
	"strings"

	exptrace "golang.org/x/exp/trace"
)

// goroutine returns the index of a goroutine, None for none.
func (s *reading) goroutine(id exptrace.GoID) int32 {
	if id == exptrace.NoGoroutine {
		return None
	}
	if i, ok := s.byID[id]; ok {
		return i
	}
	i := int32(len(s.Goroutines))
	s.byID[id] = i
	s.Goroutines = append(s.Goroutines, Goroutine{ID: int64(id), Creator: None, inherited: None, Ended: forever})
	s.used += goroutineBytes
	return i
}

func (s *reading) transition(e *exptrace.Event, st *exptrace.StateTransition) {
	from, to := st.Goroutine()
	index, now := s.goroutine(st.Resource.Goroutine()), s.now(e)
	if index == None {
		return
	}
	if from == exptrace.GoNotExist {
		s.created(index, now, e, st)
	}
	if s.threads != nil {
		s.move(index, e, from, to)
		return
	}
	g := &s.Goroutines[index]
	if from == to && len(g.Segments) > 0 {
		return // each generation repeats it
	}
	if from == exptrace.GoWaiting && to == exptrace.GoRunnable {
		s.woken(g, e)
	}
	switch to {
	case exptrace.GoRunning:
		s.add(g, now, g.runningState(), 0)
	case exptrace.GoRunnable:
		stack := StackID(0)
		if from == exptrace.GoRunning {
			stack = s.stacks.add(st.Stack)
		}
		s.add(g, now, Runnable, stack)
	case exptrace.GoWaiting:
		stack := s.stacks.add(st.Stack)
		s.add(g, now, waitState(st.Reason, s.stacks.frames(stack)), stack)
	case exptrace.GoSyscall:
		stack := s.stacks.add(st.Stack)
		s.add(g, now, callState(s.stacks.frames(stack)), stack)
	case exptrace.GoNotExist:
		g.Ended = now
		g.open = nil
		delete(s.byID, exptrace.GoID(g.ID)) // Go does not reuse ids
	default:
		s.add(g, now, Unknown, 0)
	}
}

// created sets the origin of a goroutine. The runtime's own goroutines and timers' goroutines
// belong to no span.
func (s *reading) created(index int32, now int64, e *exptrace.Event, st *exptrace.StateTransition) {
	g := &s.Goroutines[index]
	g.Created = now
	if start := s.stacks.frames(s.stacks.add(st.Stack)); len(start) > 0 {
		g.Function = start[len(start)-1].Func
	}
	at := s.stacks.frames(s.stacks.add(e.Stack()))
	creator := s.goroutine(e.Goroutine()) // may move s.Goroutines
	g = &s.Goroutines[index]
	_, to := st.Goroutine()
	switch {
	case ofRuntime(g.Function):
		g.label.held = heldNone
	case to.Executing(), inSchedulersPlace(at), len(at) > 0 && at[0].Func == "time.goFunc":
		// C code calls Go, or a timer runs on any goroutine.
	case creator == None || creator == index:
		g.label.held = heldNone
	default:
		g.Creator, g.inherited, g.label = creator, s.innermost(creator), s.Goroutines[creator].label
	}
}

// innermost returns the open span of a goroutine.
func (s *reading) innermost(goroutine int32) int32 {
	g := &s.Goroutines[goroutine]
	if len(g.open) > 0 {
		return g.open[len(g.open)-1]
	}
	span := g.inherited
	for range maxAncestors {
		if span == None || !s.Spans[span].Ended {
			return span
		}
		span = s.Spans[span].Parent
	}
	return None
}

// woken sets the goroutine that ended a wait.
func (s *reading) woken(g *Goroutine, e *exptrace.Event) {
	if len(g.Segments) == 0 || e.Goroutine() == exptrace.NoGoroutine {
		return
	}
	wait := &g.Segments[len(g.Segments)-1]
	if !wait.State.endedByGoroutine() {
		return
	}
	stack := s.stacks.add(e.Stack())
	if inSchedulersPlace(s.stacks.frames(stack)) {
		return
	}
	i, ok := s.byID[e.Goroutine()]
	if !ok || s.Goroutines[i].ID == g.ID || ofRuntime(s.Goroutines[i].Function) {
		return
	}
	wait.Waker, wait.WakerStack = i, stack
}

func (g *Goroutine) runningState() State {
	if g.assists {
		return Assist
	}
	return Running
}

func (s *reading) add(g *Goroutine, now int64, state State, stack StackID) {
	if n := len(g.Segments); n > 0 && g.Segments[n-1].State == state && state.onThread() {
		return
	}
	if g.Function == "" && stack != 0 {
		// It began before the trace. Shortened stacks lack its first function.
		if frames := s.stacks.frames(stack); len(frames) < maxFrames {
			g.Function = frames[len(frames)-1].Func
		}
	}
	g.Segments = append(g.Segments, Segment{Start: now, State: state, Stack: stack, Waker: None})
	s.used += segmentBytes
}

// gcRange adds work for the garbage collector.
func (s *reading) gcRange(e *exptrace.Event) {
	r := e.Range()
	if strings.HasPrefix(r.Name, "stop-the-world") {
		s.stop(e)
		return
	}
	if r.Name != "GC mark assist" {
		return
	}
	i := s.goroutine(r.Scope.Goroutine())
	if i == None {
		return
	}
	g := &s.Goroutines[i]
	g.assists = e.Kind() != exptrace.EventRangeEnd // each generation repeats an open one
	if n := len(g.Segments); n > 0 && g.Segments[n-1].State.onThread() {
		s.add(g, s.now(e), g.runningState(), 0)
	}
}

// stop adds a time in which the runtime stopped the world.
func (s *reading) stop(e *exptrace.Event) {
	now, n := s.now(e), len(s.stops)
	switch {
	case e.Kind() == exptrace.EventRangeBegin:
		s.stops = append(s.stops, stop{now, forever})
		s.used += stopBytes
	case e.Kind() == exptrace.EventRangeEnd && n > 0:
		s.stops[n-1].to = min(s.stops[n-1].to, now)
	}
}

// allocation is memory that a goroutine took from the heap at a time.
type allocation struct{ at, bytes int64 }

// metric reads the size of the heap. The runtime emits it on the goroutine that allocates: for
// each large object, and for all small ones since the last refill of the processor's cache. So a
// goroutine may get up to one refill of its predecessor on the processor.
func (s *reading) metric(e *exptrace.Event) {
	m := e.Metric()
	if m.Name != "/memory/classes/heap/objects:bytes" || m.Value.Kind() != exptrace.ValueUint64 {
		return
	}
	before := s.heap
	s.heap = m.Value.Uint64()
	if id := e.Goroutine(); before > 0 && s.heap > before && id != exptrace.NoGoroutine {
		g := &s.Goroutines[s.goroutine(id)]
		g.allocations = append(g.allocations, allocation{s.now(e), int64(s.heap - before)})
		s.used += allocationBytes
	}
}

// Allocated returns the bytes that a goroutine allocated between two times in spans of a set.
func (t *Timeline) Allocated(goroutine int32, from, to int64, set []bool) (bytes int64) {
	list := t.Goroutines[goroutine].allocations
	for _, a := range list[sort.Search(len(list), func(i int) bool { return list[i].at >= from }):] {
		if a.at > to {
			break
		}
		if span := t.SpanAt(goroutine, a.at); span != None && set[span] {
			bytes += a.bytes
		}
	}
	return bytes
}
