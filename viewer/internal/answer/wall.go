// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/waitclass"
	"github.com/spanprof/spanprof/store"
)

// Wait is how much of a wall time goroutines waited for something of one class.
type Wait struct {
	Class string `json:"class"`
	Ns    int64  `json:"ns"`
	// ErrorNs is the standard error of Ns.
	ErrorNs int64 `json:"errorNs,omitempty"`
}

// looks describes a wall time: the number of looks at goroutines, and the mean number of
// goroutines that each look found, at least 1.
//
// Each look counts the time since the one before, d. A wait found by several looks in a row is
// right except at its two ends. Each end is up to an interval too long or too short. A wait found
// by a single look may have been much shorter, and others of its kind were not found. Then looks
// are counted, and their number has a variance of d² for each. Goroutines that wait for the same
// have the same error, which is as many times larger.
//
// The profile has the variance of the intervals. Without it, they are from half to one and a half
// times the mean: two ends have a variance of 0.247 d².
type looks struct {
	n       int64
	at      float64 // goroutines in one
	several bool    // spans: each has its own ends

	each, single, ends float64 // variances: of a look that is counted, of the only one, of two ends; ns²
}

func newLooks(total, n int64, of *store.Looks, span *Span, ids int) (l looks, known bool) {
	if total <= 0 {
		return looks{}, false
	}
	n = max(1, n) // what a look of an earlier window has found goes on without any in this one
	d := float64(total) / float64(n)
	l = looks{n: n, at: 1, each: d * d, single: d * d, ends: d * d / 4}
	if of.Known() {
		// A look next to the end of a window counts for two intervals, or more.
		l.each, l.single, l.ends = max(l.each, of.Mean()), of.Single(), of.Ends(time.Time{}, time.Time{})
	}
	if span == nil || ids > 1 || span.Manual || span.SummaryMissing || span.DurationNs <= 0 {
		l.several = true
		return l, true
	}
	l.at = max(1, float64(total)/float64(span.DurationNs))
	if of.Known() {
		l.ends = of.Ends(span.Start, span.Start.Add(time.Duration(span.DurationNs)))
		l.single = max(l.single, l.ends)
	}
	return l, true
}

// variance returns the variance of the sum of all looks, in ns².
func (l looks) variance() float64 {
	switch {
	case l.several:
		return l.each * float64(l.n)
	case float64(l.n) < 2*l.at:
		return l.single * l.at * l.at
	}
	return l.ends * l.at * l.at
}

// part returns the standard error of the time that is value of the sum, in ns. Looks are random
// draws.
func (l looks) part(value, total int64) float64 {
	share := float64(value) / float64(total)
	draws := l.each * l.at * float64(l.n) * share * (1 - share)
	return math.Sqrt(max(0, draws) + share*share*l.variance())
}

// setWall answers what wall time was spent on, and how far off it may be.
func (a *Profile) setWall(sel *store.Samples) {
	if a.query.Type.Kind != exporter.KindWall {
		return
	}
	a.setUnwatched(sel, looks{at: 1})
	if len(sel.Stacks) == 0 {
		return
	}
	var sums [waitclass.Count]int64
	for _, sv := range sel.Stacks {
		sums[waitclass.Of(functionNames(sv.Stack))] += sv.Value
	}
	l, known := newLooks(a.Total, a.Samples, sel.Looks, a.Span, a.ProfileIDs)
	if known {
		a.ErrorNs = int64(math.Sqrt(l.variance()))
		a.setUnwatched(sel, l)
	}
	for class, ns := range sums {
		if ns == 0 {
			continue
		}
		w := Wait{Class: waitclass.Class(class).String(), Ns: ns}
		if known {
			w.ErrorNs = int64(l.part(ns, a.Total))
		}
		a.Waits = append(a.Waits, w)
	}
	slices.SortStableFunc(a.Waits, func(x, y Wait) int { return cmp.Compare(y.Ns, x.Ns) })
}

// setUnwatched answers what wall time may be missing: of a span, or of what has none.
func (a *Profile) setUnwatched(sel *store.Samples, l looks) {
	if a.Span == nil {
		if length := cmp.Or(sel.LooksLength, sel.Until.Sub(sel.From)); length > 0 {
			a.UnwatchedShare = min(1, float64(sel.Looks.Unwatched(sel.From, sel.Until))/float64(length))
		}
		return
	}
	span := a.span
	if span.Duration <= 0 {
		return
	}
	unwatched := float64(sel.Looks.Unwatched(span.Start, span.Start.Add(span.Duration))) * l.at
	// A goroutine has the time of the span at most, with the error.
	if lacks := float64(span.Duration) - float64(a.Total); lacks > -2*float64(a.ErrorNs) {
		if unwatched = min(unwatched, lacks); unwatched <= 2*float64(a.ErrorNs) {
			unwatched = 0
		}
	}
	a.UnwatchedNs = int64(unwatched)
}

// functionNames returns the functions of a stack, the leaf first.
func functionNames(stack []*profile.Location) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, location := range stack {
			for _, line := range location.Line {
				if line.Function != nil && !yield(line.Function.Name) {
					return
				}
			}
		}
	}
}

// waits describes the waits.
func (a *Profile) waits() string {
	parts := make([]string, len(a.Waits))
	for i, w := range a.Waits {
		parts[i] = fmt.Sprintf("%s %s%s (%s)", w.Class, termtext.Value(w.Ns, termtext.Nanoseconds), plusMinus(w.ErrorNs), termtext.Percent(w.Ns, a.Total))
	}
	return strings.Join(parts, ", ")
}

// plusMinus writes a standard error.
func plusMinus(ns int64) string {
	if ns == 0 {
		return ""
	}
	return " ± " + termtext.Value(ns, termtext.Nanoseconds)
}

// unwatched returns a note if a part of the span's or the profiles' time has no looks.
func (a *Profile) unwatched() string {
	const why = "the process was stopped, or nobody looked at its goroutines for another reason, "
	switch {
	case a.UnwatchedNs > 0:
		return why + "in a part of this span's time: it may have taken up to " + termtext.Value(a.UnwatchedNs, termtext.Nanoseconds) + " more than is shown"
	case a.UnwatchedShare >= 0.01:
		return fmt.Sprintf("%sfor %.0f%% of the time of these profiles: what began in it may have taken more than is shown", why, 100*a.UnwatchedShare)
	}
	return ""
}
