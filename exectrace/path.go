// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"slices"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// step is a Step that is being added up.
type step struct {
	goroutine, span int32
	start, end      int64
	sums            [timeline.States]int64
}

// mostPathSteps bounds the steps of a path while they are collected.
const mostPathSteps = 100_000

// path walks back from the span's end. Where a goroutine waited for another of the span,
// the way goes on there: that one's work is what the end waited for.
func (a *spanAnalysis) path() {
	var steps, block []step // steps from the end back, block in order
	at, on := a.span.End, a.span.Goroutine
	if a.span.EndGoroutine != timeline.None {
		on = a.span.EndGoroutine
	}
	for at > a.span.Start {
		if a.budget--; a.budget < 0 || len(steps) > mostPathSteps {
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
		block = block[:0]
		a.t.Pieces(on, start, at, func(p timeline.Piece) bool {
			next := step{goroutine: on, span: p.Span, start: p.Start, end: p.End}
			next.sums[p.State] = p.End - p.Start
			if n := len(block); n == 0 || !block[n-1].join(&next) {
				block = append(block, next)
			}
			return true
		})
		for i := range slices.Backward(block) {
			before := &block[i]
			if n := len(steps); n > 0 && before.join(&steps[n-1]) {
				steps[n-1] = *before
				continue
			}
			steps = append(steps, *before)
		}
		at = start
	}
	slices.Reverse(steps)
	a.writePath(steps)
}

// join adds the next step to s if they follow each other on a goroutine in a span.
func (s *step) join(next *step) bool {
	if s.goroutine != next.goroutine || s.span != next.span || s.end != next.start {
		return false
	}
	s.end = next.end
	for state, sum := range next.sums {
		s.sums[state] += sum
	}
	return true
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
