// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// step is a Step that is being added up.
type step struct {
	goroutine, span int32
	start, end      int64
	sums            [timeline.States]int64
}

// path walks back from the span's end. Where a goroutine waited for another of the span,
// the way goes on there: that one's work is what the end waited for.
func (a *spanAnalysis) path() {
	var steps []step
	at, on := a.span.End, a.span.Goroutine
	if a.span.EndGoroutine != timeline.None {
		on = a.span.EndGoroutine
	}
	for at > a.span.Start {
		if a.budget--; a.budget < 0 {
			a.out.PathOmitted += duration(at - a.span.Start)
			break
		}
		seg, start, end := a.t.Before(on, at)
		g := &a.t.Goroutines[on]
		if seg == nil {
			if g.Creator == timeline.None || g.Created != at {
				a.out.PathOmitted += duration(at - a.span.Start)
				break
			}
			on = g.Creator
			continue
		}
		if seg.Waker != timeline.None && end == at && a.worksAt(seg.Waker, at) {
			on = seg.Waker
			continue
		}
		start = max(start, a.span.Start)
		a.t.Pieces(on, start, at, func(p timeline.Piece) bool {
			next := step{goroutine: on, span: p.Span, start: p.Start, end: p.End}
			next.sums[p.State] = p.End - p.Start
			steps = append(steps, next)
			return true
		})
		at = start
	}
	slices.SortStableFunc(steps, func(x, y step) int { return cmp.Compare(x.start, y.start) })
	a.writePath(joined(steps))
}

// joined makes one step of those that follow each other on a goroutine in a span.
func joined(steps []step) []step {
	list := steps[:0]
	for _, s := range steps {
		n := len(list)
		if n == 0 || list[n-1].goroutine != s.goroutine || list[n-1].span != s.span || list[n-1].end != s.start {
			list = append(list, s)
			continue
		}
		last := &list[n-1]
		last.end = s.end
		for state, sum := range s.sums {
			last.sums[state] += sum
		}
	}
	return list
}

// worksAt reports whether a goroutine worked for the span at a time.
func (a *spanAnalysis) worksAt(goroutine int32, at int64) bool {
	s := a.t.SpanAt(goroutine, at-1)
	return s != timeline.None && a.in[s]
}

// writePath writes the longest steps out, in order.
func (a *spanAnalysis) writePath(steps []step) {
	least := int64(0)
	if len(steps) > mostSteps {
		lengths := make([]int64, len(steps))
		for i := range steps {
			lengths[i] = steps[i].end - steps[i].start
		}
		slices.Sort(lengths)
		least = lengths[len(lengths)-mostSteps] + 1
	}
	for i := range steps {
		s := &steps[i]
		if s.end-s.start < least {
			a.out.PathOmitted += duration(s.end - s.start)
			continue
		}
		g := &a.t.Goroutines[s.goroutine]
		a.out.Path = append(a.out.Path, Step{
			Goroutine: g.ID, Function: g.Function, Child: a.child(s.span),
			Start: duration(s.start - a.span.Start), Duration: duration(s.end - s.start), States: stateTimes(&s.sums),
		})
	}
}
