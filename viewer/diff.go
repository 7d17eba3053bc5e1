// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"math"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// maxDiffRows bounds the answer to a comparison.
const maxDiffRows = 2000

// diffRow is what one function takes on both sides of a comparison.
type diffRow struct {
	Name       string `json:"name"`
	LeftSelf   int64  `json:"leftSelf"`
	LeftTotal  int64  `json:"leftTotal"`
	RightSelf  int64  `json:"rightSelf"`
	RightTotal int64  `json:"rightTotal"`
	// Delta is the function's share of the right total less its share of
	// the left total, from -1 to 1.
	Delta float64 `json:"delta"`
}

// newDiff compares two selections function by function, the biggest difference
// first.
func newDiff(left, right *store.Selection) []diffRow {
	rows := map[string]*diffRow{}
	row := func(name string) *diffRow {
		r, ok := rows[name]
		if !ok {
			r = &diffRow{Name: name}
			rows[name] = r
		}
		return r
	}
	for _, f := range sumFunctions(left) {
		r := row(f.name)
		r.LeftSelf, r.LeftTotal = f.self, f.total
	}
	for _, f := range sumFunctions(right) {
		r := row(f.name)
		r.RightSelf, r.RightTotal = f.self, f.total
	}
	diff := make([]diffRow, 0, len(rows))
	for _, r := range rows {
		delta := share(r.RightTotal, right.Total) - share(r.LeftTotal, left.Total)
		// Six digits are more than samples carry.
		r.Delta = math.Round(delta*1e6) / 1e6
		diff = append(diff, *r)
	}
	slices.SortFunc(diff, func(a, b diffRow) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Delta), math.Abs(a.Delta)), cmp.Compare(a.Name, b.Name))
	})
	return diff
}

// share returns part/total, and 0 where there is nothing to share.
func share(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}
