// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/spanprof/spanprof/store/internal/spanlog"
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
	totals := make(map[spanlog.NameKey]*spanlog.Count)
	total := func(key spanlog.NameKey) *spanlog.Count {
		t := totals[key]
		if t == nil {
			t = &spanlog.Count{Texts: spanlog.Texts{NameKey: key}}
			totals[key] = t
		}
		return t
	}
	for _, w := range m.windows {
		for i := range w.names {
			total(w.names[i].texts.NameKey).Add(w.names[i].count())
		}
	}
	for i := range m.spans.Counts {
		total(m.spans.Counts[i].NameKey).Add(m.spans.Counts[i])
	}
	exemplars := m.store.exemplars(m.windows)
	known := m.knownOf(exemplars)
	for i := range exemplars {
		x := &exemplars[i]
		if x.label == "" {
			continue
		}
		t := total(spanlog.NameKey{Service: x.service(), Value: x.label})
		t.Label = cmp.Or(t.Label, x.label)
		if x.named || known[x.key] {
			// Samples of a span that the log did not know yet.
			t.CPU += x.lone.cpu
			t.CPUCount += x.lone.cpuCount
			continue
		}
		t.Spans++
		t.CPU += x.CPU
		t.CPUCount += x.CPUCount
	}

	list := make([]NameTotal, 0, len(totals))
	for _, t := range totals {
		// An id that is a span's by now may leave nothing to count.
		if t.Spans > 0 || t.CPUCount > 0 {
			list = append(list, nameTotal(t))
		}
	}
	slices.SortFunc(list, func(a, b NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return list
}

func nameTotal(c *spanlog.Count) NameTotal {
	return NameTotal{
		Service:     c.Service,
		Name:        c.Value,
		Label:       c.Label,
		Spans:       int(c.Spans),
		Errors:      int(c.Errors),
		Duration:    c.Duration,
		MaxDuration: c.MaxDuration,
		CPU:         c.CPU,
		CPUSamples:  c.CPUCount,
	}
}

// windowName is a count as a window keeps it.
type windowName struct {
	texts *spanlog.Texts
	spanlog.Numbers
}

func (w *windowName) count() spanlog.Count {
	return spanlog.Count{Texts: *w.texts, Numbers: w.Numbers}
}
