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

// NameTotals sums spans by service and name, those with most CPU time first. It
// counts the spans that ended in the time of the windows held, and their samples
// in these windows: also the spans that are not kept (see [WithMinDuration] and
// [WithSampling]) or that made room for others. What ended before the oldest
// window held does not count, though [Store.Spans] may list it.
//
// Samples count by the name that their span had when they came: where it got its
// last name later, that of a route, say, the name that it had before has CPU time
// without a span. Samples of spans that the store has no summary of count by their
// span_name. Of more than 1,000 names in one window, the further ones count as
// "other", those of more than some hundred services as that of no service.
// Manual exemplars with a name are spans too.
func (s *Store) NameTotals() []NameTotal {
	totals := make(map[nameKey]*nameCount)
	total := func(key nameKey) *nameCount {
		t := totals[key]
		if t == nil {
			t = &nameCount{nameTexts: nameTexts{nameKey: key}}
			totals[key] = t
		}
		return t
	}
	windows, pending := s.counts()
	for _, w := range windows {
		for i := range w.names {
			total(w.names[i].texts.nameKey).add(w.names[i].count())
		}
	}
	for i := range pending {
		total(pending[i].nameKey).add(pending[i])
	}
	exemplars := s.exemplars(windows)
	known := s.knownOf(exemplars)
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

// counts returns the windows held and what was counted since the newest.
func (s *Store) counts() ([]*window, []nameCount) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.spans.mu.Lock()
	defer s.spans.mu.Unlock()
	return s.index.windows, s.spans.pendingCounts()
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
