// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package sums sums the answers of a source: spans, samples and windows. Each sum of the pages
// is here once. The functions are pure.
package sums

import (
	"cmp"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// Name is the key of sums by name.
type Name struct{ Service, Name string }

// NameSpread is the sum of the spans of one name. CPUInclusive adds the CPU time of the spans
// below them, and each span below one of its own name once.
type NameSpread struct {
	Name
	Label                       string // a span_name of their samples
	Spans, Errors               int
	Duration, CPU, CPUInclusive time.Duration
	Durations                   Spread
}

// Spread is a distribution of times.
type Spread struct {
	Count         int
	P50, P95, Max time.Duration
}

// maxDepth bounds the way from a span to its local root, because parents may form a circle.
const maxDepth = 100

// NameSpreads sums spans by name, in the order of the first of each. Manual exemplars have no
// duration of their own.
func NameSpreads(spans []store.Span) []NameSpread {
	type spread struct {
		NameSpread
		durations []time.Duration
	}
	places, ids := make(map[Name]int), make(map[string]int)
	var list []spread
	for i := range spans {
		s := &spans[i]
		if s.Above != "" && len(ids) == 0 {
			for i := range spans {
				ids[spans[i].ProfileID] = i
			}
		}
		key := Name{s.Service, s.Name}
		at, ok := places[key]
		if !ok {
			at = len(list)
			places[key] = at
			list = append(list, spread{NameSpread: NameSpread{Name: key}})
		}
		to := &list[at]
		to.Spans++
		if s.Err {
			to.Errors++
		}
		to.Label = cmp.Or(to.Label, s.Label)
		to.CPU += s.CPU
		if !s.Manual {
			to.Duration += s.Duration
			to.durations = append(to.durations, s.Duration)
		}
		if !belowOwnName(spans, ids, s) {
			to.CPUInclusive += s.CPUInclusive
		}
	}
	spreads := make([]NameSpread, len(list))
	for i := range list {
		spreads[i] = list[i].NameSpread
		spreads[i].Durations = newSpread(list[i].durations)
	}
	return spreads
}

// belowOwnName reports whether a span is below another one of its name. ids has the places of
// the spans.
func belowOwnName(spans []store.Span, ids map[string]int, s *store.Span) bool {
	above := s.Above
	for range maxDepth {
		at, ok := ids[above]
		if above == "" || !ok {
			return false
		}
		of := &spans[at]
		if of.Name == s.Name && of.Service == s.Service {
			return true
		}
		above = of.Above
	}
	return false
}

// newSpread sorts times.
func newSpread(times []time.Duration) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	slices.Sort(times)
	quantile := func(percent int) time.Duration { return times[(len(times)*percent+99)/100-1] }
	return Spread{Count: len(times), P50: quantile(50), P95: quantile(95), Max: quantile(100)}
}

// Labels are the labels of a query for LabelTotals.
var Labels = []string{"service_name", labelkey.SpanName}

// LabelTotals returns the values of a query with Labels, by service and span_name.
func LabelTotals(a *store.Samples) map[Name]int64 {
	totals := make(map[Name]int64, len(a.Sums))
	for _, s := range a.Sums {
		totals[Name{s.Labels[0], s.Labels[1]}] += s.Value
	}
	return totals
}

// LabelNames returns the number of names of spans by the span_name of their samples. There may
// be several: routers rename spans after the labels were set, long names are cut, and beyond a
// bound names become "other".
func LabelNames(totals []store.NameTotal) map[Name]int {
	names := make(map[Name]int)
	for _, t := range totals {
		if t.Spans > 0 { // the earlier name of a renamed span has samples only
			names[Name{t.Service, t.Label}]++
		}
	}
	return names
}

// Tree returns a span and the spans of its trace below it, each once.
func Tree(root store.Span, trace []store.Span) []store.Span {
	all := []store.Span{root}
	eachBelow(root, trace, false, func(s store.Span) bool {
		all = append(all, s)
		return true
	})
	return all
}

// EachBelow visits the spans below one in its process, the nearest first. Spans below one for
// which visit returns false are left out.
func EachBelow(root store.Span, trace []store.Span, visit func(store.Span) bool) {
	eachBelow(root, trace, true, visit)
}

func eachBelow(root store.Span, trace []store.Span, inProcess bool, visit func(store.Span) bool) {
	below := map[string][]store.Span{}
	for _, s := range trace {
		if s.ParentID != "" && s.ProfileID != root.ProfileID && (!inProcess || !s.LocalRoot) {
			below[s.ParentID] = append(below[s.ParentID], s)
		}
	}
	todo := []string{root.ProfileID}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, s := range below[todo[0]] {
			if visit(s) {
				todo = append(todo, s.ProfileID)
			}
		}
		delete(below, todo[0]) // parents may form a circle
	}
}
