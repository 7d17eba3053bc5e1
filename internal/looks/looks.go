// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package looks describes when the wall profiler looked at the goroutines. The error of
// a wall time follows from these intervals. A wall profile carries them as a comment.
package looks

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// Looks is the intervals between looks. A wall time is wrong by its two ends, which are
// anywhere in an interval. Long intervals contain more ends, so the mean interval does
// not give the error. The longest intervals are kept individually, the others as sums.
type Looks struct {
	// N counts the other intervals. Sum, Squares and Cubes are the sums of their lengths
	// in seconds, and of the squares and cubes of these.
	N       int64   `json:"n"`
	Sum     float64 `json:"sum"`
	Squares float64 `json:"squares"`
	Cubes   float64 `json:"cubes"`
	// Late sums length times lateness squared over these intervals, in s³. Lateness is
	// the part of an interval by which its look was late.
	Late float64 `json:"late,omitempty"`
	// Long are the longest intervals, in no order.
	Long []Interval `json:"long,omitempty"`
}

// Interval is the time between two looks.
type Interval struct {
	From    time.Time     `json:"from"`
	Until   time.Time     `json:"until"`
	Watched time.Duration `json:"watchedNs"` // all of it, except what no sample counts
	// Late is the delay of the look at its end, at most Watched.
	Late time.Duration `json:"lateNs,omitempty"`
	// Vague is by how much the look at its begin may precede From.
	Vague time.Duration `json:"vagueNs,omitempty"`
}

const (
	prefix = "spanprof wall looks: "
	// maxLong bounds Long for one window, maxMerged for several.
	maxLong, maxMerged = 64, 1024
	// maxComment exceeds the comment of the most intervals.
	maxComment = 256 << 10
	// slack is the error of a span's times against its time on the goroutine. The
	// program stands still for a look, so many spans start and end next to one. The look
	// may or may not have found them.
	slack = 2 * time.Millisecond
)

// Add counts an interval. Its part unwatched is in no sample, because the process was
// stopped. late is the delay of its look. The look at its begin may precede from by vague.
func (l *Looks) Add(from, until time.Time, unwatched, late, vague time.Duration) {
	watched := until.Sub(from) - unwatched
	if watched <= 0 {
		return
	}
	i := Interval{From: from.Round(0), Until: until.Round(0), Watched: watched, Late: min(max(0, late), watched), Vague: max(0, vague)}
	if len(l.Long) < maxLong {
		l.Long = append(l.Long, i)
		return
	}
	shortest := &i // goes into the sums
	for j := range l.Long {
		if l.Long[j].Watched < shortest.Watched {
			shortest = &l.Long[j]
		}
	}
	l.sum(*shortest)
	*shortest = i
}

// sum adds an interval to the sums.
func (l *Looks) sum(i Interval) {
	d, late := i.Watched.Seconds(), i.Late.Seconds()
	l.N++
	l.Sum += d
	l.Squares += d * d
	l.Cubes += d * d * d
	l.Late += d * late * late
}

// all returns l with all intervals in the sums.
func (l *Looks) all() Looks {
	if l == nil {
		return Looks{}
	}
	sums := Looks{N: l.N, Sum: l.Sum, Squares: l.Squares, Cubes: l.Cubes, Late: l.Late}
	for _, i := range l.Long {
		sums.sum(i)
	}
	return sums
}

// Known reports whether there is any interval.
func (l *Looks) Known() bool { return l != nil && l.N+int64(len(l.Long)) > 0 }

// Merge adds the intervals of other.
func (l *Looks) Merge(other *Looks) {
	l.N += other.N
	l.Sum += other.Sum
	l.Squares += other.Squares
	l.Cubes += other.Cubes
	l.Late += other.Late
	for _, i := range other.Long {
		if len(l.Long) < maxMerged {
			l.Long = append(l.Long, i)
		} else {
			l.sum(i)
		}
	}
}

// Mean returns the mean square of the intervals, in ns²; 0 without any.
func (l *Looks) Mean() float64 {
	all := l.all()
	if all.N == 0 {
		return 0
	}
	return all.Squares / float64(all.N) * 1e18
}

// Ends returns the variance, in ns², of the wall time from begin to end. Either may be
// zero for an unknown time. Half of an interval with an end counts for the span, although
// the true share is between 0 and 1. The chance that an interval has an end is
// proportional to its length.
func (l *Looks) Ends(begin, end time.Time) float64 {
	return l.End(begin) + l.End(end)
}

// End returns the variance, in ns², that one end at a time adds to a wall time. A zero
// time is an unknown one.
//
// An end is anywhere in an interval of length d. If the look was late by h, the process
// and its spans were held up for most of h. Ends then are in the rest, before or after.
// With h anywhere in d, their mean square distance from the middle is d²/12 + h²/6. That
// is between an end anywhere and an end at the bounds.
func (l *Looks) End(at time.Time) float64 {
	all := l.all()
	if all.Sum <= 0 {
		return 0
	}
	if !at.IsZero() {
		if v := l.long(at); v > 0 {
			return v * 1e18
		}
		if l.Sum > 0 {
			all = *l
		}
	}
	return (all.Cubes/12 + all.Late/6) / all.Sum * 1e18
}

// long returns the variance, in s², of an end in the long interval around at. It is the
// largest if several match, and 0 if none does.
func (l *Looks) long(at time.Time) float64 {
	var most float64
	for _, i := range l.Long {
		if !at.Before(i.From.Add(-i.Vague-slack)) && at.Before(i.Until.Add(slack)) {
			d, h := i.Watched.Seconds(), i.Late.Seconds()
			most = max(most, d*d/12+h*h/6)
		}
	}
	return most
}

// Single returns the mean square of an interval, in ns². Intervals are weighted by their
// length.
func (l *Looks) Single() float64 {
	all := l.all()
	if all.Sum <= 0 {
		return 0
	}
	return all.Cubes / all.Sum * 1e18
}

// Comment returns l as the comment of a profile.
func (l *Looks) Comment() string {
	text, err := json.Marshal(l)
	if err != nil {
		return prefix + "{}" // a sum is not a number
	}
	return prefix + string(text)
}

// Parse returns the looks in the comments of a profile; nil if absent or invalid.
func Parse(comments []string) *Looks {
	for _, c := range comments {
		text, ok := strings.CutPrefix(c, prefix)
		if !ok || len(text) > maxComment {
			continue
		}
		l := new(Looks)
		if err := json.Unmarshal([]byte(text), l); err == nil && l.valid() {
			l.Long = slices.Clip(l.Long)
			return l
		}
	}
	return nil
}

// valid reports whether l is possible. The sums of powers bound each other, except for
// rounding.
func (l *Looks) valid() bool {
	const rounding = 1 + 1e-6
	for _, sum := range []float64{l.Sum, l.Squares, l.Cubes, l.Late} {
		if sum < 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
			return false
		}
	}
	for _, i := range l.Long {
		if i.Watched <= 0 || i.Vague < 0 || i.Late < 0 || i.Late > i.Watched || i.Until.Before(i.From) { // the clocks may differ
			return false
		}
	}
	return l.N >= 0 && l.Late <= l.Cubes*rounding && len(l.Long) <= maxMerged && l.Squares*l.Squares <= l.Sum*l.Cubes*rounding && l.Sum*l.Sum <= float64(l.N)*l.Squares*rounding
}
