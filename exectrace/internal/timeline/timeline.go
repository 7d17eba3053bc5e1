// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package timeline reads an execution trace into what each goroutine did when, and which
// span was open on it.
//
// Times are nanoseconds since the trace's first event. Spans, goroutines and stacks are
// named by their index.
package timeline

import (
	"slices"
	"sort"
	"time"
)

// None stands for no goroutine and for no span.
const None int32 = -1

// forever is the end of what has not ended.
const forever = int64(1) << 62

// Timeline is an execution trace.
type Timeline struct {
	Goroutines []Goroutine
	Spans      []Span // parents before their children
	End        int64  // the time of the last event
	// Wall is the wall clock's time at 0. It is zero for traces of Go before 1.25.
	Wall time.Time
	// Cut says that memory ran out at End, and that the trace goes on.
	Cut bool
	// EndedUnseen counts tasks that end in the trace and began before it.
	EndedUnseen int
	Marks       int // of spanprof

	stacks *stacks
	stops  []interval // when the world was stopped
}

type interval struct{ start, end int64 }

// Goroutine is what a goroutine did.
type Goroutine struct {
	ID       int64
	Function string // the one that it started with; "" where the trace does not tell
	Creator  int32
	Created  int64 // 0 where it began before the trace
	// Segments follow each other without gaps until Ended.
	Segments []Segment
	Ended    int64

	inherited int32    // the span that was open where it was created
	marks     []mark   // which own span was the innermost from when on
	open      []int32  // own spans that are open, while reading
	ranges    [2]int32 // nesting of mark assists and sweeps, while reading
	pending   [8]byte  // the id of the span that begins next, while reading
	isPending bool
}

// mark says which span that began on the goroutine was the innermost since a time.
type mark struct {
	at   int64
	span int32
}

// Segment is a time in which a goroutine's state did not change. It lasts until the next
// one, or until the goroutine ended.
type Segment struct {
	Start int64
	Stack StackID // of the goroutine, where a wait began
	// Waker is the goroutine that ended a wait, and WakerStack where it was then.
	Waker      int32
	WakerStack StackID
	State      State
}

// Span is a task of package runtime/trace: OpenTelemetry's SDK makes one of each span.
type Span struct {
	ID           [8]byte // of the span, where it is marked
	Marked       bool
	Name         string
	Parent       int32 // a span; None where it has none or it is not in the trace
	Orphan       bool  // it has a parent which is not in the trace
	Goroutine    int32 // where it began
	EndGoroutine int32 // where it ended; None where the trace does not tell
	Start, End   int64
	Ended        bool // otherwise End is the trace's
}

// IsRoot reports whether s is a local root: a span of its own in spanprof, or a task
// without a parent.
func (s *Span) IsRoot() bool { return s.Marked || s.Parent == None && !s.Orphan }

// Frames returns the frames of a stack, leaf first. They are not to be changed.
func (t *Timeline) Frames(id StackID) []Frame { return t.stacks.frames(id) }

// Root returns the local root that a span is part of, or the outermost span that is known.
func (t *Timeline) Root(span int32) int32 {
	for span != None && !t.Spans[span].Marked && t.Spans[span].Parent != None {
		span = t.Spans[span].Parent
	}
	return span
}

// Below returns a set of spans: root and its descendants, by index.
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

// maxAncestors bounds the look for an ancestor that is still open.
const maxAncestors = 64

// SpanAt returns the innermost span that was open on a goroutine. A goroutine that began
// in a span, and opened none itself, belongs to that span, or to its nearest ancestor that
// is still open.
func (t *Timeline) SpanAt(goroutine int32, at int64) int32 {
	g := &t.Goroutines[goroutine]
	if i := sort.Search(len(g.marks), func(i int) bool { return g.marks[i].at > at }); i > 0 && g.marks[i-1].span != None {
		return g.marks[i-1].span
	}
	s := g.inherited
	for range maxAncestors {
		if s == None || at < t.Spans[s].End {
			return s
		}
		s = t.Spans[s].Parent
	}
	return None
}

// Piece is a time in which neither a goroutine's state changed nor its span.
type Piece struct {
	Start, End int64
	Segment    *Segment
	State      State // Segment's, or Stopped
	Span       int32
}

// Pieces calls yield with what a goroutine did from one time to another, in order, until
// yield returns false.
func (t *Timeline) Pieces(goroutine int32, from, to int64, yield func(Piece) bool) {
	g := &t.Goroutines[goroutine]
	to = min(to, g.Ended, t.End)
	for i := t.segmentAt(g, from); i < len(g.Segments); i++ {
		seg := &g.Segments[i]
		start, end := max(seg.Start, from), min(t.segmentEnd(g, i), to)
		if seg.Start >= to {
			return
		}
		for start < end {
			piece := Piece{Start: start, End: end, Segment: seg, State: seg.State, Span: t.SpanAt(goroutine, start)}
			piece.End = min(piece.End, t.nextSpanChange(g, start))
			if seg.State == Runnable {
				piece.cutAtStops(t.stops)
			}
			if !yield(piece) {
				return
			}
			start = piece.End
		}
	}
}

// cutAtStops ends a piece where the world stops or goes on.
func (p *Piece) cutAtStops(stops []interval) {
	i := sort.Search(len(stops), func(i int) bool { return stops[i].end > p.Start })
	switch {
	case i == len(stops):
	case stops[i].start <= p.Start:
		p.State = Stopped
		p.End = min(p.End, stops[i].end)
	default:
		p.End = min(p.End, stops[i].start)
	}
}

// nextSpanChange returns when SpanAt may return something else.
func (t *Timeline) nextSpanChange(g *Goroutine, at int64) int64 {
	next := forever
	i := sort.Search(len(g.marks), func(i int) bool { return g.marks[i].at > at })
	if i < len(g.marks) {
		next = g.marks[i].at
	}
	if i == 0 || g.marks[i-1].span == None {
		s := g.inherited
		for range maxAncestors {
			if s == None {
				break
			}
			if end := t.Spans[s].End; end > at {
				return min(next, end)
			}
			s = t.Spans[s].Parent
		}
	}
	return next
}

// segmentAt returns the index of the segment that holds at, or of the first one after it.
func (t *Timeline) segmentAt(g *Goroutine, at int64) int {
	i := sort.Search(len(g.Segments), func(i int) bool { return g.Segments[i].Start > at })
	return max(i-1, 0)
}

func (t *Timeline) segmentEnd(g *Goroutine, i int) int64 {
	if i+1 < len(g.Segments) {
		return g.Segments[i+1].Start
	}
	return min(g.Ended, t.End)
}

// Before returns the segment that a goroutine was in just before a time, and the
// segment's bounds; nil where there is none.
func (t *Timeline) Before(goroutine int32, at int64) (seg *Segment, start, end int64) {
	g := &t.Goroutines[goroutine]
	i := sort.Search(len(g.Segments), func(i int) bool { return g.Segments[i].Start >= at }) - 1
	if i < 0 {
		return nil, 0, 0
	}
	return &g.Segments[i], g.Segments[i].Start, t.segmentEnd(g, i)
}

// Involved returns the goroutines that a set of spans can be found on: those where one
// began, and those that were created in one. first comes first.
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
