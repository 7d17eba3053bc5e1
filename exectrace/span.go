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
	mostWaits      = 100
	mostSteps      = 200
	mostRunners    = 10
	mostFrames     = 32
)

// spanAnalysis is the analysis of one local root.
type spanAnalysis struct {
	t    *timeline.Timeline
	root int32
	span *timeline.Span
	in   []bool // which spans are the root or below it
	out  Span

	waits map[waitKey]*waitSum
	// budget is how many pieces the looks at other goroutines may take, so that no trace
	// keeps an analysis busy for ever.
	budget int
	ready  []stretch // of the first goroutine
}

const pieceBudget = 1_000_000

// stretch is a time.
type stretch struct{ start, end int64 }

// analyzeSpan returns the analysis of a local root by so many pieces at most.
func analyzeSpan(t *timeline.Timeline, root int32, budget int) Span {
	out, _ := analyzeWithin(t, root, budget)
	return out
}

// analyzeWithin is analyzeSpan, and returns how many pieces are left too.
func analyzeWithin(t *timeline.Timeline, root int32, budget int) (out Span, left int) {
	s := &t.Spans[root]
	a := &spanAnalysis{
		t: t, root: root, span: s, in: t.Below(root),
		waits: map[waitKey]*waitSum{}, budget: budget,
		out: Span{
			ID: spanID(s), Name: s.Name, Start: duration(s.Start), Duration: duration(s.End - s.Start), Open: !s.Ended,
			Goroutines: []Goroutine{}, Waits: []Wait{}, Path: []Step{},
		},
	}
	for _, g := range t.Involved(a.in, s.Goroutine) {
		a.goroutine(g)
	}
	if n := len(a.out.Goroutines); n > 1 {
		slices.SortStableFunc(a.out.Goroutines[1:], func(x, y Goroutine) int { return cmp.Compare(x.Start, y.Start) })
	}
	a.trimIntervals()
	a.outcome()
	a.sumWaits()
	a.path()
	a.runners() // last: among many goroutines they take all that the budget has left
	a.out.Cut = a.budget < 0
	return a.out, max(a.budget, 0)
}

// analyzeTogether returns the analyses of local roots, which share the pieces: what one
// leaves is the others'. It lacks some if stopped returns an error.
func analyzeTogether(t *timeline.Timeline, roots []int32, budget int, stopped func() error) []Span {
	list := make([]Span, 0, len(roots))
	for i, root := range roots {
		if stopped() != nil {
			break
		}
		share := budget / (len(roots) - i)
		out, left := analyzeWithin(t, root, share)
		budget -= share - left
		list = append(list, out)
	}
	return list
}

// goroutine adds up what a goroutine did for the span, and collects its waits.
func (a *spanAnalysis) goroutine(index int32) {
	g := &a.t.Goroutines[index]
	first := index == a.span.Goroutine
	var sums [timeline.States]int64
	when, inSpan := newIntervals(a.span), map[int32]int64{}
	out := Goroutine{ID: g.ID, Function: g.Function, Start: -1}
	at := a.span.Start // until here all is accounted for
	a.t.Pieces(index, a.span.Start, a.span.End, func(p timeline.Piece) bool {
		if a.budget--; a.budget < 0 {
			return false
		}
		if first && p.Start > at {
			a.hole("the trace does not tell", at, p.Start)
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
				a.hole("the trace does not tell", p.Start, p.End)
			}
			return true
		}
		if out.Start < 0 {
			out.Start = duration(p.Start - a.span.Start)
		}
		inSpan[p.Span] += p.End - p.Start
		out.End = duration(p.End - a.span.Start)
		when.add(&p)
		sums[p.State] += p.End - p.Start
		if p.State.Waits() {
			a.wait(index, &p)
		}
		if first && p.State == timeline.Runnable {
			a.ready = append(a.ready, stretch{p.Start, p.End})
		}
		return true
	})
	if first && at < a.span.End {
		switch {
		case a.budget < 0:
			a.hole("too many events to look at", at, a.span.End)
		case g.Ended <= a.span.End:
			a.hole("its goroutine had ended", at, a.span.End)
		default:
			a.hole("the trace does not tell", at, a.span.End)
		}
	}
	if out.Start < 0 && !first {
		return
	}
	out.Start = max(out.Start, 0)
	out.States = stateTimes(&sums)
	out.Intervals = when.done()
	if !first {
		out.Child = a.mostly(inSpan)
	}
	if len(a.out.Goroutines) == mostGoroutines {
		a.out.GoroutinesOmitted++
		return
	}
	a.out.Goroutines = append(a.out.Goroutines, out)
}

// trimIntervals bounds the intervals of all goroutines.
func (a *spanAnalysis) trimIntervals() {
	left := mostIntervals
	for i := range a.out.Goroutines {
		g := &a.out.Goroutines[i]
		if len(g.Intervals) > left {
			g.Intervals = nil
		}
		left -= len(g.Intervals)
	}
}

// outcome names what the end of the span leaves open.
func (a *spanAnalysis) outcome() {
	s := a.span
	if s.Ended && s.EndGoroutine != timeline.None && s.EndGoroutine != s.Goroutine {
		reason := fmt.Sprintf("the span ended on goroutine %d: since when it was there the trace does not tell", a.t.Goroutines[s.EndGoroutine].ID)
		a.out.Holes = append(a.out.Holes, Hole{Reason: reason, Start: a.out.Duration})
	}
	if !s.Ended {
		reason := "the span had not ended when the trace did"
		if a.t.Cut {
			reason = "the trace was not read further: it has too many events"
		}
		a.out.Holes = append(a.out.Holes, Hole{Reason: reason, Start: a.out.Duration})
	}
}

// hole adds a hole, to the one before if that has the same reason.
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
	a.out.Holes = append(a.out.Holes, Hole{Reason: reason, Start: start, Duration: length})
}

// child returns the name of a span, "" for the local root.
func (a *spanAnalysis) child(span int32) string { return childName(a.t, span, a.root) }

func childName(t *timeline.Timeline, span, root int32) string {
	if span == timeline.None || span == root {
		return ""
	}
	return t.Spans[span].Name
}

// mostly returns the name of the child of the local root that most of a goroutine's time was
// for, by its times in each span; "" where that is the root itself.
func (a *spanAnalysis) mostly(inSpan map[int32]int64) string {
	sums := map[int32]int64{}
	for span, sum := range inSpan {
		for span != a.root && a.t.Spans[span].Parent != a.root && a.t.Spans[span].Parent != timeline.None {
			span = a.t.Spans[span].Parent
		}
		sums[span] += sum
	}
	most := a.root
	for span, sum := range sums {
		if sum > sums[most] || sum == sums[most] && span < most {
			most = span
		}
	}
	return a.child(most)
}

func spanID(s *timeline.Span) string {
	if !s.Marked {
		return ""
	}
	return hex.EncodeToString(s.ID[:])
}

func duration(ns int64) time.Duration { return time.Duration(ns) }

// stateTimes returns what is not zero, the longest first.
func stateTimes(sums *[timeline.States]int64) []StateTime {
	list := []StateTime{}
	for state, sum := range sums {
		if sum > 0 {
			list = append(list, StateTime{timeline.State(state).String(), duration(sum)})
		}
	}
	slices.SortStableFunc(list, func(a, b StateTime) int { return cmp.Compare(b.Duration, a.Duration) })
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
