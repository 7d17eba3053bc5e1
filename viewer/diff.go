// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"math"
	"slices"
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
	// DeltaSelf is the same for what the function takes itself.
	DeltaSelf float64 `json:"deltaSelf"`
}

// newDiff compares two profiles of the same functions, function by function,
// and returns at most n, those that differ most. What takes more on the right
// comes first, for that is what makes it slow, then what takes less, each by
// its difference; of functions that differ as much, as those do that only call
// each other, the one that differs most by itself.
func newDiff(left, right *breakdown, n int) (rows []diffRow, omitted int) {
	leftTotal, rightTotal := left.tree.nodes[0].total, right.tree.nodes[0].total
	for i, fn := range left.tree.functions.list {
		l, r := left.totals.of(int32(i)), right.totals.of(int32(i))
		rows = append(rows, diffRow{
			Name: fn.name, LeftSelf: l.self, LeftTotal: l.total, RightSelf: r.self, RightTotal: r.total,
			Delta:     shareDelta(r.total, rightTotal, l.total, leftTotal),
			DeltaSelf: shareDelta(r.self, rightTotal, l.self, leftTotal),
		})
	}
	slices.SortFunc(rows, func(a, b diffRow) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Delta), math.Abs(a.Delta)), cmp.Compare(math.Abs(b.DeltaSelf), math.Abs(a.DeltaSelf)), cmp.Compare(a.Name, b.Name))
	})
	if omitted = len(rows) - n; omitted > 0 {
		rows = rows[:n]
	}
	slices.SortStableFunc(rows, func(a, b diffRow) int { return cmp.Compare(sign(b.Delta), sign(a.Delta)) })
	return rows, max(0, omitted)
}

// sign puts what takes more before what takes less, and what takes the same at
// the end.
func sign(delta float64) int {
	switch {
	case delta > 0:
		return 2
	case delta < 0:
		return 1
	}
	return 0
}

// shareDelta returns the difference of two shares. Six digits are more than
// samples carry.
func shareDelta(right, rightTotal, left, leftTotal int64) float64 {
	return math.Round((share(right, rightTotal)-share(left, leftTotal))*1e6) / 1e6
}

// share returns part/total, and 0 where there is nothing to share.
func share(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}
