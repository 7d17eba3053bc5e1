// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"slices"
	"time"

	"github.com/spanprof/spanprof/store"
)

// nameKey is the key of sums by name.
type nameKey struct{ Service, Name string }

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

// timesOf returns the distribution of some durations, nil without any. It sorts them.
func timesOf(durations []time.Duration) *Times {
	if len(durations) == 0 {
		return nil
	}
	slices.Sort(durations)
	// quantile returns the least time that so many percent do not exceed.
	quantile := func(percent int) time.Duration { return durations[(len(durations)*percent+99)/100-1] }
	return &Times{P50: quantile(50), P95: quantile(95), Max: quantile(100)}
}

// maxDepth bounds the way from a span to its local root, because parents may form a circle.
const maxDepth = 100

// nameSpreads returns the times of spans by name. Manual exemplars have no duration of their own.
func nameSpreads(spans []store.Span) map[nameKey]*Spread {
	all, durations, ids := map[nameKey]*Spread{}, map[nameKey][]time.Duration{}, map[string]*store.Span{}
	for i := range spans {
		ids[spans[i].ProfileID] = &spans[i]
	}
	for i := range spans {
		s := &spans[i]
		key := nameKey{s.Service, s.Name}
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
		all[key].Durations = timesOf(d)
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
