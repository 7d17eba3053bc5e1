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

// NameSpread is the sum of the spans of one name. CPUInclusive
// adds the CPU time of the spans below them, and each span below one of its own name once.
type NameSpread struct {
	store.NameTotal
	CPUInclusive time.Duration `json:"cpuInclusiveNs"`
	// Measured is the number of spans that Durations are of.
	Measured  int    `json:"measured"`
	Durations *Times `json:"durations,omitempty"`
}

// Times is a distribution of times.
type Times struct {
	P50 time.Duration `json:"p50Ns"`
	P95 time.Duration `json:"p95Ns"`
	Max time.Duration `json:"maxNs"`
}

// spreads sums spans by a key, in the order of the first of each.
type spreads struct {
	places map[Name]int
	list   []NameSpread
	times  [][]time.Duration
}

// add adds a span. Manual exemplars have no duration of their own.
func (c *spreads) add(key Name, s *store.Span) *NameSpread {
	at, ok := c.places[key]
	if !ok {
		at = len(c.list)
		c.places[key] = at
		c.list = append(c.list, NameSpread{NameTotal: store.NameTotal{Service: key.Service, Name: key.Name}})
		c.times = append(c.times, nil)
	}
	to := &c.list[at]
	to.Spans++
	to.Measured++
	if s.Err {
		to.Errors++
	}
	to.Label = cmp.Or(to.Label, s.Label)
	to.CPU += s.CPU
	if !s.Manual {
		to.Duration += s.Duration
		to.MaxDuration = max(to.MaxDuration, s.Duration)
		c.times[at] = append(c.times[at], s.Duration)
	}
	return to
}

// sorted returns the sums with their quantiles.
func (c *spreads) sorted() []NameSpread {
	for i, times := range c.times {
		if n := len(times); n > 0 {
			slices.Sort(times)
			c.list[i].Durations = &Times{Quantile(times, 50), Quantile(times, 95), times[n-1]}
		}
	}
	return c.list
}

// Quantile returns the least of sorted times that so many percent of them do not exceed.
func Quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// maxDepth bounds the way from a span to its local root, because parents may form a circle.
const maxDepth = 100

// NameSpreads sums spans by name, in the order of the first of each.
func NameSpreads(spans []store.Span) []NameSpread {
	c, ids := spreads{places: map[Name]int{}}, map[string]*store.Span{}
	for i := range spans {
		ids[spans[i].ProfileID] = &spans[i]
	}
	for i := range spans {
		s := &spans[i]
		to := c.add(Name{s.Service, s.Name}, s)
		if !belowOwnName(ids, s) {
			to.CPUInclusive += s.CPUInclusive
		}
	}
	return c.sorted()
}

// belowOwnName reports whether a span is below another one of its name.
func belowOwnName(ids map[string]*store.Span, s *store.Span) bool {
	id := s.Above
	for range maxDepth {
		above := ids[id]
		if id == "" || above == nil {
			return false
		}
		if above.Name == s.Name && above.Service == s.Service {
			return true
		}
		id = above.Above
	}
	return false
}

// Labels are the labels of a query for LabelTotals.
var Labels = []string{"service_name", labelkey.SpanName}

// LabelTotals returns the values of a query with Labels, by service and span_name.
func LabelTotals(a *store.Samples) map[Name]time.Duration {
	totals := make(map[Name]time.Duration, len(a.Sums))
	for _, s := range a.Sums {
		totals[Name{s.Labels[0], s.Labels[1]}] += time.Duration(s.Value)
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

// EachBelow visits the spans of a trace below one in its process, the nearest first. Spans below
// one for which visit returns false are left out.
func EachBelow(root store.Span, trace []store.Span, visit func(store.Span) bool) {
	below := map[string][]store.Span{}
	for _, s := range trace {
		if s.ParentID != "" && s.ProfileID != root.ProfileID && !s.LocalRoot {
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
