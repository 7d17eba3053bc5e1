// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline reads an execution trace into the states and the open spans of each
// goroutine.
//
// Times are nanoseconds since the trace's first event. Spans, goroutines and stacks are
// indexes.
package timeline

import (
	"slices"
	"sort"
	"time"
)

// None is no goroutine, or no span.
const None int32 = -1

// forever is an end that has not come.
const forever = int64(1) << 62

// Timeline is an execution trace.
type Timeline struct {
	Goroutines []Goroutine
	Spans      []Span // parents before their children
	End        int64  // the time of the last event
	// Wall is the wall clock at 0. It is zero for traces of Go before 1.25.
	Wall time.Time
	// Cut is set if memory ran out at End. The rest of the trace was not read.
	Cut bool
	// EndedUnseen is the number of tasks that began before the trace and ended in it.
	EndedUnseen int

	stacks *stacks
	stops  []stop // in order
}

// stop is a time in which the runtime stopped the world.
type stop struct{ from, to int64 }

// Goroutine is the history of a goroutine.
type Goroutine struct {
	ID       int64
	Function string // its first function, "" if unknown
	Creator  int32
	Created  int64 // 0 if it began before the trace
	// Segments have no gaps until Ended.
	Segments []Segment
	Ended    int64

	inherited   int32  // the open span of its creator then
	marks       []mark // its innermost own span
	allocations []allocation
	// Fields of the reading.
	open      []int32 // own spans
	assists   bool    // it marks for the garbage collector
	pending   [8]byte // the id of the next span
	isPending bool
	label     label
	thread    *thread // nil while it is not on one
}

// mark is the innermost own span since a time.
type mark struct {
	at   int64
	span int32
}

// Segment is a time with one state. It ends at the next one, or with the goroutine.
type Segment struct {
	Start int64
	Stack StackID // at the begin of a wait
	// Waker is the goroutine that ended a wait, WakerStack its stack then.
	Waker      int32
	WakerStack StackID
	State      State
}

// Span is a task of package runtime/trace: OpenTelemetry's SDK makes one for each span.
type Span struct {
	ID           [8]byte // if Marked
	Marked       bool
	Name         string
	Parent       int32 // None if absent, or not in the trace
	Orphan       bool  // its parent is not in the trace
	Goroutine    int32 // of its begin
	EndGoroutine int32 // None if unknown
	Start, End   int64
	Ended        bool // otherwise End is the trace's
}

// IsRoot reports whether s is a local root: marked by spanprof, or a task without a parent.
func (s *Span) IsRoot() bool { return s.Marked || s.Parent == None && !s.Orphan }

// Frames returns the frames of a stack, leaf first. They are read-only.
func (t *Timeline) Frames(id StackID) []Frame { return t.stacks.frames(id) }

// Root returns the local root of a span, or the outermost known span.
func (t *Timeline) Root(span int32) int32 {
	for span != None && !t.Spans[span].Marked && t.Spans[span].Parent != None {
		span = t.Spans[span].Parent
	}
	return span
}

// Below returns the set of root and its descendants, by index.
func (t *Timeline) Below(root int32) []bool {
	set := make([]bool, len(t.Spans))
	set[root] = true
	for i := int(root) + 1; i < len(t.Spans); i++ {
		if p := t.Spans[i].Parent; p != None {
			set[i] = set[p]
		}
	}
	return set
}

// maxAncestors bounds the search for an open ancestor.
const maxAncestors = 64

// SpanAt returns the innermost open span of a goroutine. Without an own open span, that is
// the nearest open ancestor of the span that it was created in.
func (t *Timeline) SpanAt(goroutine int32, at int64) int32 {
	span, _ := t.spanAt(&t.Goroutines[goroutine], at)
	return span
}

// spanAt also returns the time of the next possible change.
func (t *Timeline) spanAt(g *Goroutine, at int64) (span int32, until int64) {
	until = forever
	i := sort.Search(len(g.marks), func(i int) bool { return g.marks[i].at > at })
	if i < len(g.marks) {
		until = g.marks[i].at
	}
	if i > 0 && g.marks[i-1].span != None {
		return g.marks[i-1].span, until
	}
	s := g.inherited
	for range maxAncestors {
		if s == None {
			return None, until
		}
		if end := t.Spans[s].End; at < end {
			return s, min(until, end)
		}
		s = t.Spans[s].Parent
	}
	return None, until
}

// Piece is a time with one state and one span.
type Piece struct {
	Start, End int64
	Segment    *Segment
	State      State
	Span       int32
}

// Pieces yields the pieces of a goroutine between two times, in order.
func (t *Timeline) Pieces(goroutine int32, from, to int64, yield func(Piece) bool) {
	g := &t.Goroutines[goroutine]
	to = min(to, g.Ended, t.End)
	first := sort.Search(len(g.Segments), func(i int) bool { return g.Segments[i].Start > from })
	for i := max(first-1, 0); i < len(g.Segments) && g.Segments[i].Start < to; i++ {
		seg := &g.Segments[i]
		start, end := max(seg.Start, from), to
		if i+1 < len(g.Segments) {
			end = min(g.Segments[i+1].Start, to)
		}
		for start < end {
			span, until := t.spanAt(g, start)
			state, change := t.stopped(seg.State, start)
			piece := Piece{Start: start, End: min(end, until, change), Segment: seg, State: state, Span: span}
			if !yield(piece) {
				return
			}
			start = piece.End
		}
	}
}

// stopped returns Stopped for a goroutine that is ready during a stop, otherwise its state. Both
// hold until a time.
func (t *Timeline) stopped(state State, at int64) (State, int64) {
	i := sort.Search(len(t.stops), func(i int) bool { return t.stops[i].to > at })
	switch {
	case state != Runnable || i == len(t.stops):
		return state, forever
	case t.stops[i].from > at:
		return state, t.stops[i].from
	}
	return Stopped, t.stops[i].to
}

// Involved returns first, and all other goroutines on which a span of the set was open.
func (t *Timeline) Involved(set []bool, first int32) []int32 {
	found := []int32{first}
	for i := range t.Goroutines {
		g := &t.Goroutines[i]
		if int32(i) == first {
			continue
		}
		in := g.inherited != None && set[g.inherited]
		in = in || slices.ContainsFunc(g.marks, func(m mark) bool { return m.span != None && set[m.span] })
		if in {
			found = append(found, int32(i))
		}
	}
	return found
}
