// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package sums sums the answers of a source: spans, samples and windows. Each sum of the pages
// is here once. The functions are pure.
package sums

import (
	"slices"
	"time"

	"github.com/spanprof/spanprof/store"
)

// Name is the key of sums by name.
type Name struct{ Service, Name string }

// Spread is the times of some spans.
type Spread struct {
	// Measured is the number of spans.
	Measured  int    `json:"measured"`
	Durations *Times `json:"durations,omitempty"`
	// Below is the CPU time of the spans below them. A span below one of its own name
	// counts once.
	Below time.Duration `json:"-"`
}

// Times is a distribution of times.
type Times struct {
	P50 time.Duration `json:"p50Ns"`
	P95 time.Duration `json:"p95Ns"`
	Max time.Duration `json:"maxNs"`
}

// TimesOf returns the distribution of some durations, nil without any. It sorts them.
func TimesOf(durations []time.Duration) *Times {
	if len(durations) == 0 {
		return nil
	}
	slices.Sort(durations)
	return &Times{Quantile(durations, 50), Quantile(durations, 95), durations[len(durations)-1]}
}

// Quantile returns the least of sorted times that so many percent of them do not exceed.
func Quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// maxDepth bounds the way from a span to its local root, because parents may form a circle.
const maxDepth = 100

// NameSpreads returns the times of spans by name. Manual exemplars have no duration of their own.
func NameSpreads(spans []store.Span) map[Name]*Spread {
	all, durations, ids := map[Name]*Spread{}, map[Name][]time.Duration{}, map[string]*store.Span{}
	for i := range spans {
		ids[spans[i].ProfileID] = &spans[i]
	}
	for i := range spans {
		s := &spans[i]
		key := Name{s.Service, s.Name}
		of := all[key]
		if of == nil {
			of = new(Spread)
			all[key] = of
		}
		of.Measured++
		of.Below -= s.CPU
		if !belowOwnName(ids, s) {
			of.Below += s.CPUInclusive
		}
		if !s.Manual {
			durations[key] = append(durations[key], s.Duration)
		}
	}
	for key, d := range durations {
		all[key].Durations = TimesOf(d)
	}
	return all
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
