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

func (m *moment) nameTotals() []NameTotal {
	totals := make(map[nameKey]*nameCount)
	total := func(key nameKey) *nameCount {
		t := totals[key]
		if t == nil {
			t = &nameCount{nameTexts: nameTexts{nameKey: key}}
			totals[key] = t
		}
		return t
	}
	for _, w := range m.windows {
		for i := range w.names {
			total(w.names[i].texts.nameKey).add(w.names[i].count())
		}
	}
	for i := range m.counts {
		total(m.counts[i].nameKey).add(m.counts[i])
	}
	exemplars := m.store.exemplars(m.windows)
	known := m.knownOf(exemplars)
	for i := range exemplars {
		x := &exemplars[i]
		if x.label == "" {
			continue
		}
		t := total(nameKey{x.service(), x.label})
		t.label = orElse(t.label, x.label)
		if x.named || known[x.key] {
			// Samples of a span that the log did not know yet.
			t.cpu += x.lone.cpu
			t.cpuCount += x.lone.cpuCount
			continue
		}
		t.spans++
		t.cpu += x.cpu
		t.cpuCount += x.cpuCount
	}

	list := make([]NameTotal, 0, len(totals))
	for _, t := range totals {
		// An id that is a span's by now may leave nothing to count.
		if t.spans > 0 || t.cpuCount > 0 {
			list = append(list, t.total())
		}
	}
	slices.SortFunc(list, func(a, b NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return list
}

func (c *nameCount) total() NameTotal {
	return NameTotal{
		Service:     c.service,
		Name:        c.value,
		Label:       c.label,
		Spans:       int(c.spans),
		Errors:      int(c.errors),
		Duration:    c.duration,
		MaxDuration: c.maxDuration,
		CPU:         c.cpu,
		CPUSamples:  c.cpuCount,
	}
}
