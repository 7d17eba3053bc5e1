// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package looks says at what intervals the profiler of wall time has looked at the
// goroutines, from which follows how far off a wall time may be. A wall profile carries
// that as a comment.
package looks

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// Looks is the intervals between looks. A wall time is wrong by its two ends, which are
// anywhere in an interval: long intervals have more of them, so that the mean does not
// tell the error. The longest are kept one by one, of the others only sums.
type Looks struct {
	// N is the number of the others, and Sum, Squares and Cubes are the sums of their
	// lengths, in seconds, and of the second and third powers of these.
	N       int64   `json:"n"`
	Sum     float64 `json:"sum"`
	Squares float64 `json:"squares"`
	Cubes   float64 `json:"cubes"`
	// Long are the longest, in no order.
	Long []Interval `json:"long,omitempty"`
	// Gaps are the times in which nobody looked, in the order of time.
	Gaps []Gap `json:"gaps,omitempty"`
}

// Interval is the time between two looks.
type Interval struct {
	From    time.Time     `json:"from"`
	Until   time.Time     `json:"until"`
	Watched time.Duration `json:"watchedNs"` // all of it, but for what is in a Gap
}

// Gap is a time of which a part was watched by nobody, as the process was stopped. Where
// in that time it was is not known.
type Gap struct {
	From      time.Time     `json:"from"`
	Until     time.Time     `json:"until"`
	Unwatched time.Duration `json:"unwatchedNs"`
}

const (
	prefix = "spanprof wall looks: "
	// maxGaps bounds Gaps; a comment is rejected when it is longer than such a number
	// of gaps.
	maxGaps    = 256
	maxComment = 128 << 10
	// maxLong bounds Long, and maxMerged those of several windows.
	maxLong, maxMerged = 64, 1024
)

// Add counts an interval, in which gap was watched by nobody.
func (l *Looks) Add(from, until time.Time, gap time.Duration) {
	elapsed := max(0, until.Sub(from))
	gap = min(max(0, gap), elapsed)
	if gap > 0 {
		l.gap(Gap{From: from.Round(0), Until: until.Round(0), Unwatched: gap})
	}
	if elapsed > gap {
		l.keep(Interval{From: from.Round(0), Until: until.Round(0), Watched: elapsed - gap}, maxLong)
	}
}

// keep adds an interval. Where there is no room for one more, the shortest is summed up.
func (l *Looks) keep(i Interval, room int) {
	if len(l.Long) < room {
		l.Long = append(l.Long, i)
		return
	}
	shortest := &i
	for j := range l.Long {
		if l.Long[j].Watched < shortest.Watched {
			shortest = &l.Long[j]
		}
	}
	l.sum(shortest.Watched)
	*shortest = i
}

// sum adds an interval to the sums.
func (l *Looks) sum(watched time.Duration) {
	d := watched.Seconds()
	l.N++
	l.Sum += d
	l.Squares += d * d
	l.Cubes += d * d * d
}

// all returns l with all intervals in the sums.
func (l *Looks) all() Looks {
	if l == nil {
		return Looks{}
	}
	sums := Looks{N: l.N, Sum: l.Sum, Squares: l.Squares, Cubes: l.Cubes}
	for _, i := range l.Long {
		sums.sum(i.Watched)
	}
	return sums
}

// Known reports whether there is any interval.
func (l *Looks) Known() bool { return l != nil && l.N+int64(len(l.Long)) > 0 }

// gap adds one. What there is no room for lengthens the last.
func (l *Looks) gap(g Gap) {
	if n := len(l.Gaps); n >= maxGaps {
		last := &l.Gaps[n-1]
		last.Until, last.Unwatched = g.Until, last.Unwatched+g.Unwatched
		return
	}
	l.Gaps = append(l.Gaps, g)
}

// Merge adds the intervals of other, which may be nil, and not its gaps.
func (l *Looks) Merge(other *Looks) {
	if other == nil {
		return
	}
	l.N += other.N
	l.Sum += other.Sum
	l.Squares += other.Squares
	l.Cubes += other.Cubes
	for _, i := range other.Long {
		if len(l.Long) < maxMerged {
			l.Long = append(l.Long, i)
		} else {
			l.sum(i.Watched)
		}
	}
}

// MergeGaps adds the gaps of other, which may be nil, that l does not have.
func (l *Looks) MergeGaps(other *Looks) {
	if other == nil || len(other.Gaps) == 0 {
		return
	}
	all := slices.Concat(l.Gaps, other.Gaps)
	slices.SortStableFunc(all, func(a, b Gap) int { return a.From.Compare(b.From) })
	all = slices.CompactFunc(all, func(a, b Gap) bool { return a.From.Equal(b.From) && a.Until.Equal(b.Until) })
	l.Gaps = nil
	for _, g := range all {
		l.gap(g)
	}
}

// Mean returns the mean of the squares of the intervals, in ns²; 0 without any.
func (l *Looks) Mean() float64 {
	all := l.all()
	if all.N == 0 {
		return 0
	}
	return all.Squares / float64(all.N) * 1e18
}

// Ends returns the variance, in ns², of the wall time from begin to end, which may be
// zero where they are anywhere: at its begin it has too much by a part of the interval,
// which is anything up to all of it, and lacks such a part at its end. An interval is as
// likely to have an end as it is long.
func (l *Looks) Ends(begin, end time.Time) float64 {
	all := l.all()
	if all.Sum <= 0 {
		return 0
	}
	rest := *l
	rest.Long = nil
	if rest.Sum <= 0 {
		rest = all
	}
	m1, s1 := l.at(begin, &rest, &all)
	m2, s2 := l.at(end, &rest, &all)
	return ((s1+s2)/3 - m1*m2/2) * 1e18
}

// at returns the length of the interval with a time in it, and its square, in seconds: of
// one that is kept, or what is to be expected of the rest; or of all, for no time.
func (l *Looks) at(t time.Time, rest, all *Looks) (mean, square float64) {
	if t.IsZero() {
		return all.Squares / all.Sum, all.Cubes / all.Sum
	}
	for _, i := range l.Long {
		if !t.Before(i.From) && t.Before(i.Until) {
			d := i.Watched.Seconds()
			return d, d * d
		}
	}
	return rest.Squares / rest.Sum, rest.Cubes / rest.Sum
}

// Single returns the mean of the square, in ns², of an interval that is as likely to be
// meant as it is long.
func (l *Looks) Single() float64 {
	all := l.all()
	if all.Sum <= 0 {
		return 0
	}
	return all.Cubes / all.Sum * 1e18
}

// Unwatched returns for how long at most nobody looked between two times.
func (l *Looks) Unwatched(from, until time.Time) time.Duration {
	if l == nil {
		return 0
	}
	var sum time.Duration
	for _, g := range l.Gaps {
		begin, end := g.From, g.Until
		if from.After(begin) {
			begin = from
		}
		if until.Before(end) {
			end = until
		}
		sum += max(0, min(end.Sub(begin), g.Unwatched))
	}
	return sum
}

// Comment returns l as the comment of a profile.
func (l *Looks) Comment() string {
	text, err := json.Marshal(l)
	if err != nil {
		return prefix + "{}" // a sum that is no number
	}
	return prefix + string(text)
}

// Parse returns what the comments of a profile say of its looks; nil where they say
// nothing, or what cannot be.
func Parse(comments []string) *Looks {
	for _, c := range comments {
		text, ok := strings.CutPrefix(c, prefix)
		if !ok || len(text) > maxComment {
			continue
		}
		l := new(Looks)
		if err := json.Unmarshal([]byte(text), l); err == nil && l.valid() {
			l.Gaps, l.Long = slices.Clip(l.Gaps), slices.Clip(l.Long)
			return l
		}
	}
	return nil
}

// valid reports whether l can be: no power of intervals is smaller than those below it
// make it, but for what rounding takes.
func (l *Looks) valid() bool {
	const rounding = 1 + 1e-6
	for _, sum := range []float64{l.Sum, l.Squares, l.Cubes} {
		if sum < 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
			return false
		}
	}
	for _, g := range l.Gaps {
		if g.Unwatched < 0 || g.Until.Before(g.From) {
			return false
		}
	}
	for _, i := range l.Long {
		if i.Watched <= 0 || i.Until.Before(i.From) { // the clocks may differ
			return false
		}
	}
	return l.N >= 0 && len(l.Long) <= maxMerged && len(l.Gaps) <= maxGaps && l.Squares*l.Squares <= l.Sum*l.Cubes*rounding && l.Sum*l.Sum <= float64(l.N)*l.Squares*rounding
}
