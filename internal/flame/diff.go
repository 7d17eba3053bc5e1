// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"math"
	"slices"
)

// DiffRow is what one function takes on both sides of a comparison.
type DiffRow struct {
	Name       string    `json:"name"`
	Type       FrameType `json:"type,omitempty"`
	LeftSelf   int64     `json:"leftSelf"`
	LeftTotal  int64     `json:"leftTotal"`
	RightSelf  int64     `json:"rightSelf"`
	RightTotal int64     `json:"rightTotal"`
	// Delta is the function's share of the right total less its share of
	// the left total, from -1 to 1.
	Delta float64 `json:"delta"`
}

// Diff compares two summaries of the same functions, function by function. It
// returns the n functions that differ most, the largest difference first. Where functions differ
// equally, as those do that only call each other, the difference of self decides.
func Diff(left, right *Summary, n int) (rows []DiffRow, omitted int) {
	leftTotal, rightTotal := left.tree.nodes[0].total, right.tree.nodes[0].total
	for i, fn := range left.functions.list {
		l, r := left.top.of(int32(i)), right.top.of(int32(i))
		rows = append(rows, DiffRow{
			Name: fn.name, Type: fn.typ, LeftSelf: l.self, LeftTotal: l.total, RightSelf: r.self, RightTotal: r.total,
			Delta: shareDelta(r.total, rightTotal, l.total, leftTotal),
		})
	}
	ofSelf := func(r DiffRow) float64 { return math.Abs(shareDelta(r.RightSelf, rightTotal, r.LeftSelf, leftTotal)) }
	slices.SortFunc(rows, func(a, b DiffRow) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Delta), math.Abs(a.Delta)), cmp.Compare(ofSelf(b), ofSelf(a)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	shown := min(n, len(rows))
	return rows[:shown], len(rows) - shown
}

// shareDelta returns the difference of two shares. Samples justify fewer than six
// digits.
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
