// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

const (
	// maxParts is how many parts a span has before they become one: a stream has
	// samples in thousands of windows.
	maxParts = 8
	// usualCost is what the samples of a span take without counting against it.
	usualCost = 16 << 10
)

// keep makes parts of a window that is about to go, one for each span that some of its
// groups are kept for. The caller holds the locks.
func (s *Store) keep(w *window, kept []spanlog.Kept) {
	if len(kept) == 0 {
		return
	}
	groups := make(map[ident.Key][]int)
	var owners []ident.Key
	for _, k := range kept {
		if groups[k.Owner] == nil {
			owners = append(owners, k.Owner)
		}
		groups[k.Owner] = append(groups[k.Owner], k.Index)
	}
	others := make(map[ident.Key][]*window)
	for _, p := range s.index.kept {
		if groups[p.owner] != nil && p.Joins(&w.Window) {
			others[p.owner] = append(others[p.owner], p)
		}
	}
	var parts, joined []*window
	for _, owner := range owners {
		windows, cuts := []*window{w}, []samples.Cut{{Window: &w.Window, Groups: groups[owner]}}
		if len(others[owner]) >= maxParts {
			windows, cuts = nil, nil
			for _, p := range others[owner] {
				windows, cuts = append(windows, p), append(cuts, samples.All(&p.Window))
			}
			windows, cuts = append(windows, w), append(cuts, samples.Cut{Window: &w.Window, Groups: groups[owner]})
			joined = append(joined, others[owner]...)
		}
		p := part(owner, windows, cuts)
		s.tables.retainKept(p)
		parts = append(parts, p)
	}
	s.index.keep(parts, joined)
	for _, p := range joined {
		s.tables.releaseKept(p)
	}
}

// worth is what decides on which samples leave first.
type worth struct {
	owner ident.Key
	rank  int
	// value is the rank, and more for samples that take much: the greatest leaves
	// first.
	value int
	cost  int64
}

// worthOf returns the owners of parts, those that leave first at first.
func worthOf(owners []ident.Key, ranks []int, owned map[ident.Key][]*window) []worth {
	list := make([]worth, len(owners))
	for i, owner := range owners {
		list[i] = worth{owner: owner, rank: ranks[i]}
		for _, w := range owned[owner] {
			list[i].cost += w.cost()
		}
		list[i].value = ranks[i] + bits.Len64(uint64(list[i].cost/usualCost))/2
	}
	slices.SortStableFunc(list, func(a, b worth) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(b.cost, a.cost))
	})
	return list
}
