// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

const (
	mostGoroutines = 100
	mostHoles      = 50
	mostFrames     = 32
	// pieceBudget bounds the pieces of a timeline that one analysis reads.
	pieceBudget = 1_000_000
)

const unknown = "the trace has no information"

// spanAnalysis is the analysis of one local root.
type spanAnalysis struct {
	t      *timeline.Timeline
	root   int32
	span   *timeline.Span
	in     []bool // by span: it is the root or below it
	out    Span
	waits  map[waitKey]*waitSum
	budget int // pieces left
}

// analyzeSpans analyzes local roots, the slowest first. They share the budget: what the short ones
// leave goes to the slow ones.
func analyzeSpans(t *timeline.Timeline, roots []int32, budget int) []Span {
	list := make([]Span, len(roots))
	for i := len(roots) - 1; i >= 0; i-- {
		used := 0
		list[i], used = analyzeSpan(t, roots[i], budget/(i+1))
		budget -= used
	}
	return list
}

// analyzeSpan returns the analysis of a local root. It reads a number of pieces of the timeline at
// most, and returns how many it used.
func analyzeSpan(t *timeline.Timeline, root int32, budget int) (out Span, used int) {
	s := &t.Spans[root]
	a := &spanAnalysis{
		t: t, root: root, span: s, in: t.Below(root),
		waits: map[waitKey]*waitSum{}, budget: budget,
		out: Span{
			ID: spanID(s), Name: s.Name, Start: duration(s.Start), Duration: duration(s.End - s.Start), Open: !s.Ended,
			Goroutines: []Goroutine{}, Waits: []Wait{},
		},
	}
	for _, g := range t.Involved(a.in, s.Goroutine) {
		a.goroutine(g)
		a.out.AllocatedBytes += t.Allocated(g, s.Start, s.End, a.in)
	}
	if n := len(a.out.Goroutines); n > 1 {
		slices.SortStableFunc(a.out.Goroutines[1:], func(x, y Goroutine) int { return cmp.Compare(x.Start, y.Start) })
	}
	if s.EndGoroutine != timeline.None && s.EndGoroutine != s.Goroutine {
		reason := fmt.Sprintf("the span ended on goroutine %d: the trace has no time of the change", t.Goroutines[s.EndGoroutine].ID)
		a.out.Holes = append(a.out.Holes, Part{Reason: reason, Start: a.out.Duration})
	}
	if !s.Ended {
		reason := "the span had not ended when the trace did"
		if t.Cut {
			reason = "the rest of the trace was not read: it has too many events"
		}
		a.out.Holes = append(a.out.Holes, Part{Reason: reason, Start: a.out.Duration})
	}
	a.sumWaits()
	a.out.Cut = a.budget < 0
	return a.out, budget - max(a.budget, 0)
}

// goroutine sums what a goroutine did for the span, and collects its waits.
func (a *spanAnalysis) goroutine(index int32) {
	g := &a.t.Goroutines[index]
	first := index == a.span.Goroutine
	var sums [timeline.States]int64
	longest := int64(0)
	out := Goroutine{ID: g.ID, Function: g.Function, Start: -1}
	at := a.span.Start // all time before is assigned
	a.t.Pieces(index, a.span.Start, a.span.End, func(p timeline.Piece) bool {
		if a.budget--; a.budget < 0 {
			return false
		}
		if first && p.Start > at {
			a.hole(unknown, at, p.Start)
		}
		at = p.End
		switch {
		case p.Span != timeline.None && a.in[p.Span]:
		case first && p.Span != timeline.None:
			a.hole(fmt.Sprintf("its goroutine worked for span %q", a.t.Spans[p.Span].Name), p.Start, p.End)
			return true
		default:
			return true
		}
		if p.State == timeline.Unknown {
			if first {
				a.hole(unknown, p.Start, p.End)
			}
			return true
		}
		if out.Start < 0 {
			out.Start = duration(p.Start - a.span.Start)
		}
		out.End = duration(p.End - a.span.Start)
		if d := p.End - p.Start; d > longest && !first {
			longest, out.Child = d, childName(a.t, p.Span, a.root)
		}
		sums[p.State] += p.End - p.Start
		if p.State.Waits() {
			a.wait(index, &p)
		}
		return true
	})
	if first && at < a.span.End {
		reason := unknown
		switch {
		case a.budget < 0:
			reason = "there are too many events"
		case g.Ended <= a.span.End:
			reason = "its goroutine had ended"
		}
		a.hole(reason, at, a.span.End)
	}
	if out.Start < 0 && !first {
		return
	}
	if len(a.out.Goroutines) == mostGoroutines {
		a.out.GoroutinesOmitted++
		return
	}
	out.Start = max(out.Start, 0)
	out.States = stateSums(&sums)
	a.out.Goroutines = append(a.out.Goroutines, out)
}

// hole adds a hole, or extends the last one with the same reason.
func (a *spanAnalysis) hole(reason string, from, to int64) {
	start, length := duration(from-a.span.Start), duration(to-from)
	if n := len(a.out.Holes); n > 0 {
		last := &a.out.Holes[n-1]
		if last.Reason == reason && last.Start+last.Duration == start {
			last.Duration += length
			return
		}
		if n == mostHoles {
			last.Reason = "several reasons"
			last.Duration += length
			return
		}
	}
	a.out.Holes = append(a.out.Holes, Part{Reason: reason, Start: start, Duration: length})
}

// childName returns the name of a span, "" for its local root.
func childName(t *timeline.Timeline, span, root int32) string {
	if span == timeline.None || span == root {
		return ""
	}
	return t.Spans[span].Name
}

func spanID(s *timeline.Span) string {
	if !s.Marked {
		return ""
	}
	return hex.EncodeToString(s.ID[:])
}

func duration(ns int64) time.Duration { return time.Duration(ns) }

// stateSums returns the sums above zero, the longest first.
func stateSums(sums *[timeline.States]int64) []Part {
	list := []Part{}
	for state, sum := range sums {
		if sum > 0 {
			list = append(list, Part{State: timeline.State(state).String(), Duration: duration(sum)})
		}
	}
	slices.SortStableFunc(list, func(a, b Part) int { return cmp.Compare(b.Duration, a.Duration) })
	return list
}

func frames(t *timeline.Timeline, id timeline.StackID) []Frame {
	kept := t.Frames(id)
	list := make([]Frame, 0, min(len(kept), mostFrames))
	for _, f := range kept[:min(len(kept), mostFrames)] {
		list = append(list, Frame(f))
	}
	return list
}
