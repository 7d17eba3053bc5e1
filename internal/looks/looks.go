// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package looks describes when the wall profiler looked at the goroutines. The error of
// a wall time follows from these intervals. A wall profile carries them as a comment.
package looks

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// Looks is the intervals between looks. A wall time is wrong by its two ends, which are
// anywhere in an interval. Long intervals contain more ends, so the mean interval does
// not give the error.
type Looks struct {
	// N counts the intervals. Sum, Squares and Cubes are the sums of their lengths in
	// seconds, and of the squares and cubes of these.
	N       int64   `json:"n"`
	Sum     float64 `json:"sum"`
	Squares float64 `json:"squares"`
	Cubes   float64 `json:"cubes"`
	// Late sums length times lateness squared over the intervals, in s³. Lateness is
	// the part of an interval by which its look was late.
	Late float64 `json:"late,omitempty"`
}

const prefix = "spanprof wall looks: "

// Add counts an interval that samples count, and the delay of the look at its end.
func (l *Looks) Add(watched, late time.Duration) {
	if watched <= 0 {
		return
	}
	d, h := watched.Seconds(), min(max(0, late), watched).Seconds()
	l.N++
	l.Sum += d
	l.Squares += d * d
	l.Cubes += d * d * d
	l.Late += d * h * h
}

// Known reports whether there is any interval.
func (l *Looks) Known() bool { return l != nil && l.N > 0 }

// Merge adds the intervals of other.
func (l *Looks) Merge(other *Looks) {
	l.N += other.N
	l.Sum += other.Sum
	l.Squares += other.Squares
	l.Cubes += other.Cubes
	l.Late += other.Late
}

// Mean returns the mean square of the intervals, in ns². There must be one.
func (l *Looks) Mean() float64 { return l.Squares / float64(l.N) * 1e18 }

// Ends returns the variance, in ns², of the wall time between two ends. There must be an
// interval. Half of an interval with an end counts for the span, although the true share is
// between 0 and 1. The chance that an interval has an end is proportional to its length.
//
// An end is anywhere in an interval of length d. If the look was late by h, the process
// and its spans were held up for most of h. Ends then are in the rest, before or after.
// With h anywhere in d, their mean square distance from the middle is d²/12 + h²/6. That
// is between an end anywhere and an end at the bounds.
func (l *Looks) Ends() float64 { return 2 * (l.Cubes/12 + l.Late/6) / l.Sum * 1e18 }

// Single returns the mean square of an interval, in ns². Intervals are weighted by their
// length. There must be one.
func (l *Looks) Single() float64 { return l.Cubes / l.Sum * 1e18 }

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
		l := new(Looks)
		if ok && json.Unmarshal([]byte(text), l) == nil && l.valid() {
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
		if sum < 0 || math.IsInf(sum, 0) || math.IsNaN(sum) || l.N > 0 && l.Sum == 0 {
			return false
		}
	}
	return l.N >= 0 && l.Late <= l.Cubes*rounding && l.Squares*l.Squares <= l.Sum*l.Cubes*rounding && l.Sum*l.Sum <= float64(l.N)*l.Squares*rounding
}
