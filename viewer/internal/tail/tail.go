// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package tail compares the slow spans of a name with its median ones: which part of the
// time, and which attribute value, differs by more than chance.
package tail

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
)

// Span is a span of the name. Only spans of a side need Parts and Attributes.
type Span struct {
	ID         string
	Duration   time.Duration
	Parts      map[string]float64 // ns, by state or by state and function
	Attributes map[string]string
}

const (
	// least is the number of spans of a side below which nothing is compared.
	least = 5
	// most bounds the spans of a side: each takes a query of its own.
	most = 16
	// risk is the chance that a comparison without a difference names anything.
	risk = 0.01
	// slower is the least ratio of the sides' durations that is a tail.
	slower = 1.5
	// share is the least share of the difference that a part of the time is named for.
	share = 0.1
)

// sides chooses the slow spans, above the 95th percentile, and the median ones, from the 40th
// to the 60th. Each has at most 16 spans; there is none if the name has too few spans.
func sides(spans []Span) (slow, median []Span) {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Duration, b.Duration), strings.Compare(a.ID, b.ID)) })
	n := len(spans)
	slow, median = spans[n-n/20:], spans[2*n/5:3*n/5]
	if len(slow) < least {
		slow = spans[max(0, n-least):]
	}
	if n < 5*least {
		return nil, nil
	}
	return slow[max(0, len(slow)-most):], median[max(0, (len(median)-most)/2):min(len(median), (len(median)+most)/2)]
}

// Difference is a part of the time that slow spans have more or less of.
type Difference struct {
	Part string `json:"part"`
	// Ns is the difference of the means, ErrorNs its standard error.
	Ns      int64 `json:"ns"`
	ErrorNs int64 `json:"errorNs"`
}

// Value is an attribute value that slow spans have more often.
type Value struct {
	Key    string  `json:"key"`
	Value  string  `json:"value"`
	Slow   float64 `json:"slow"` // the share of the slow spans
	Median float64 `json:"median"`
}

// Result is a comparison.
type Result struct {
	Sentence    string       `json:"sentence"`
	Slow        int          `json:"slow"` // spans
	Median      int          `json:"median"`
	Differences []Difference `json:"differences"` // the largest first
	Values      []Value      `json:"values"`
}

// Compare compares the slow spans with the median ones. If there is a tail, it calls fill for each
// span of a side. The sentence names at most three parts and one value.
func Compare(spans []Span, fill func(*Span)) *Result {
	slow, median := sides(spans)
	return compare(slow, median, fill)
}

func compare(slow, median []Span, fill func(*Span)) *Result {
	r := &Result{Slow: len(slow), Median: len(median), Differences: []Difference{}, Values: []Value{}}
	if len(slow) < least || len(median) < least {
		r.Sentence = "Too few spans to compare slow ones with median ones."
		return r
	}
	duration := func(s Span) float64 { return float64(s.Duration) }
	a, _ := mean(slow, duration)
	b, _ := mean(median, duration)
	if a < slower*b {
		r.Sentence = fmt.Sprintf("No tail: the slow spans take %s, the median ones %s.", nanoseconds(a), nanoseconds(b))
		return r
	}
	for _, side := range [][]Span{slow, median} {
		for i := range side {
			fill(&side[i])
		}
	}
	r.parts(slow, median, share*(a-b))
	r.values(slow, median)
	r.Sentence = fmt.Sprintf("Slow spans take %s, median ones %s", nanoseconds(a), nanoseconds(b)) + r.reasons()
	return r
}

func (r *Result) parts(slow, median []Span, floor float64) {
	names := make(map[string]bool)
	for _, s := range slices.Concat(slow, median) {
		for name := range s.Parts {
			names[name] = true
		}
	}
	degrees := float64(min(len(slow), len(median)) - 1)
	for name := range names {
		value := func(s Span) float64 { return s.Parts[name] }
		a, va := mean(slow, value)
		b, vb := mean(median, value)
		off := math.Sqrt(va + vb)
		if math.Abs(a-b) >= floor && chance(math.Abs(a-b), off, degrees) < risk/float64(len(names)) {
			r.Differences = append(r.Differences, Difference{name, int64(a - b), int64(off)})
		}
	}
	slices.SortFunc(r.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), strings.Compare(a.Part, b.Part))
	})
}

// values finds attribute values of at least half of the slow spans that are rarer in median ones.
func (r *Result) values(slow, median []Span) {
	type value struct{ key, value string }
	count := func(spans []Span) map[value]int {
		n := make(map[value]int)
		for _, s := range spans {
			for k, v := range s.Attributes {
				n[value{k, v}]++
			}
		}
		return n
	}
	inSlow, inMedian := count(slow), count(median)
	for v, n := range inSlow {
		m := inMedian[v]
		if 2*n >= len(slow) && exact(n, len(slow), m, len(median)) < risk/float64(len(inSlow)) {
			r.Values = append(r.Values, Value{v.key, v.value, float64(n) / float64(len(slow)), float64(m) / float64(len(median))})
		}
	}
	slices.SortFunc(r.Values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Slow-b.Median, a.Slow-a.Median), strings.Compare(a.Key, b.Key))
	})
}

func (r *Result) reasons() string {
	text := "; too few samples show which part of the time differs"
	var parts []string
	for _, d := range r.Differences[:min(3, len(r.Differences))] {
		if d.Ns > 0 {
			parts = append(parts, fmt.Sprintf("+%s %s", nanoseconds(float64(d.Ns)), termtext.Clip(d.Part, termtext.MaxQuoted)))
		}
	}
	if len(parts) > 0 {
		text = ": " + strings.Join(parts, ", ")
	}
	if len(r.Values) > 0 {
		v := r.Values[0]
		text += fmt.Sprintf("; %.0f %% of them have %s=%s (%.0f %% of the median ones)", 100*v.Slow, v.Key, termtext.Clip(v.Value, termtext.MaxQuoted), 100*v.Median)
	}
	return text + "."
}

// mean returns the mean of a value, and the variance of the mean.
func mean(spans []Span, value func(Span) float64) (m, variance float64) {
	n := float64(len(spans))
	for _, s := range spans {
		m += value(s) / n
	}
	for _, s := range spans {
		d := value(s) - m
		variance += d * d / (n - 1) / n
	}
	return m, variance
}

// chance returns the probability of a difference of d or more either way, with a standard error:
// Student's distribution with n degrees of freedom, by Wallace's approximation (1959).
func chance(d, off, n float64) float64 {
	if off == 0 {
		return 0
	}
	z := (8*n + 1) / (8*n + 3) * math.Sqrt(n*math.Log1p(d*d/(off*off)/n))
	return math.Erfc(z / math.Sqrt2)
}

// exact returns the probability that n or more of a spans have a value by chance. n+m of all a+b
// spans have it. It is Fisher's exact test.
func exact(n, a, m, b int) (p float64) {
	choose := func(n, k int) float64 {
		x, _ := math.Lgamma(float64(n + 1))
		y, _ := math.Lgamma(float64(k + 1))
		z, _ := math.Lgamma(float64(n - k + 1))
		return x - y - z
	}
	for i := n; i <= min(a, n+m); i++ {
		if n+m-i <= b {
			p += math.Exp(choose(a, i) + choose(b, n+m-i) - choose(a+b, n+m))
		}
	}
	return p
}

func nanoseconds(ns float64) string { return termtext.Value(int64(ns), termtext.Nanoseconds) }
