// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package walltruth

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Sum is that of the spans of a kind, or of all.
type Sum struct {
	Kind             string // "" of all
	Took, Total      time.Duration
	Error, Unwatched time.Duration // as stated
}

// agrees reports whether a wall time is within three standard errors of the truth. It may
// lack the time in which nobody looked.
func agrees(total, took, standard, unwatched time.Duration) bool {
	return total <= took+3*standard && total >= took-3*standard-unwatched
}

// lacks returns how much of the unwatched time that is stated a span may really lack: that of
// gaps which began before a look can have found it. One that was found has them.
func (r Result) lacks(s Span) time.Duration {
	if s.Samples == 0 {
		return s.Unwatched
	}
	var lacks, before time.Duration
	for _, g := range r.Gaps {
		from, until := max(g.From, s.Begin), min(g.Until, s.Begin+s.Took)
		d := min(g.Unwatched, until-from)
		if d <= 0 {
			continue
		}
		if g.From-s.Begin-before <= r.Longest+slack {
			lacks += d
		}
		before += d
	}
	return min(lacks, s.Unwatched)
}

// slack is what passes between taking a time and being labelled.
const slack = 5 * time.Millisecond

// Sums returns those of all spans, and of each kind.
func (r Result) Sums() []Sum {
	kinds := make(map[string]*Sum)
	variances := make(map[string]float64)
	for _, s := range r.Spans {
		for _, kind := range []string{"", s.Kind} {
			sum := kinds[kind]
			if sum == nil {
				sum = &Sum{Kind: kind}
				kinds[kind] = sum
			}
			sum.Took, sum.Total, sum.Unwatched = sum.Took+s.Took, sum.Total+s.Total, sum.Unwatched+r.lacks(s)
			variances[kind] += float64(s.Error) * float64(s.Error)
		}
	}
	var sums []Sum
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		kinds[kind].Error = time.Duration(math.Sqrt(variances[kind]))
		sums = append(sums, *kinds[kind])
	}
	return sums
}

// Outside returns the spans that are further off than what is stated. Of a span that no
// look has seen nothing is stated but the time between looks, and it is not longer.
func (r Result) Outside() []Span {
	return slices.DeleteFunc(slices.Clone(r.Spans), func(s Span) bool {
		if s.Samples == 0 {
			return s.Took <= r.Longest+s.Unwatched
		}
		return agrees(s.Total, s.Took, s.Error, r.lacks(s))
	})
}

// Wrong says what does not agree: more than one in 20 spans, and any of the sums.
func (r Result) Wrong() []string {
	var wrong []string
	if n := len(r.Outside()); n > len(r.Spans)/20 || len(r.Spans) == 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d spans are further off than what is stated", n, len(r.Spans)))
	}
	for _, s := range r.Sums() {
		if !agrees(s.Total, s.Took, s.Error, s.Unwatched) {
			wrong = append(wrong, fmt.Sprintf("all spans %s took %v, and their samples make %v ± %v, with %v unwatched", s.Kind, s.Took, s.Total, s.Error, s.Unwatched))
		}
	}
	for _, s := range r.Names {
		if !agrees(s.Total, s.Took, s.Error, s.Unwatched) {
			wrong = append(wrong, fmt.Sprintf("the spans named %s took %v, and by name it is %v ± %v, with %v unwatched", s.Kind, s.Took, s.Total, s.Error, s.Unwatched))
		}
	}
	return wrong
}
