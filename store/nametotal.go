// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"
)

// NameTotal is the sum of the spans of one name in one service.
type NameTotal struct {
	Service, Name string
	// Label is the span_name label that samples of these spans carry: the
	// name, as a rule, but it may be cut, "other", or an earlier name of
	// the span. It is empty where there are no samples.
	Label string
	// Spans is their number, Errors of those with the status Error, Duration
	// the sum of their wall clocks, MaxDuration the longest. Manual exemplars
	// have no wall clock.
	Spans, Errors         int
	Duration, MaxDuration time.Duration
	// CPU and CPUSamples are the sums of those of the spans.
	CPU        time.Duration
	CPUSamples int64
}

// NameTotals sums the spans that [Store.Spans] lists by service and name, those
// with most CPU time first. Manual exemplars without a name are left out.
func (s *Store) NameTotals() []NameTotal {
	type key struct{ service, name string }
	totals := make(map[key]*NameTotal)
	total := func(service, name string) *NameTotal {
		t := totals[key{service, name}]
		if t == nil {
			t = &NameTotal{Service: service, Name: name}
			totals[key{service, name}] = t
		}
		return t
	}
	for _, chunk := range slices.Backward(s.spans.snapshot()) {
		// One by one, so that the profiler need not wait for all.
		s.mu.RLock()
		for i := range slices.Backward(chunk) {
			r := &chunk[i]
			t := total(r.service, r.name.value)
			t.Spans++
			t.Duration += time.Duration(r.duration)
			t.MaxDuration = max(t.MaxDuration, time.Duration(r.duration))
			if r.err {
				t.Errors++
			}
			e := s.index.entry(r.spanID)
			if e == nil {
				continue
			}
			t.CPU += e.cpu
			t.CPUSamples += e.samples
			if t.Label == "" {
				t.Label = e.label()
			}
		}
		s.mu.RUnlock()
	}
	for _, row := range s.exemplarRows(SpanQuery{}) {
		x := row.exemplar
		if x.Name == "" {
			continue
		}
		t := total(x.Service, x.Name)
		t.Label = orElse(t.Label, x.Label)
		t.Spans++
		t.CPU += x.CPU
		t.CPUSamples += x.CPUSamples
	}

	list := make([]NameTotal, 0, len(totals))
	for _, t := range totals {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return list
}
