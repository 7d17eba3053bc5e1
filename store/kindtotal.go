// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/exporter"
)

// KindTotal says that profiles of a kind have samples that a query selects.
type KindTotal struct {
	Kind exporter.Kind
	// Samples is their number, Windows that of the windows with any of them.
	Samples int64
	Windows int
}

func (h *held) kindTotals(q Query) []KindTotal {
	var totals []KindTotal
	for _, m := range q.matches(slices.Values(h.kept), slices.Values(h.windows)) {
		samples := int64(0)
		for g := range m.groups() {
			samples += g.count()
		}
		if samples == 0 {
			continue
		}
		i := slices.IndexFunc(totals, func(t KindTotal) bool { return t.Kind == m.window.kind })
		if i < 0 {
			i = len(totals)
			totals = append(totals, KindTotal{Kind: m.window.kind})
		}
		totals[i].Samples += samples
		totals[i].Windows++
	}
	slices.SortFunc(totals, func(a, b KindTotal) int { return cmp.Compare(a.Kind, b.Kind) })
	return totals
}
