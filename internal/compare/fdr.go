// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"slices"
)

// adjusted returns Benjamini and Hochberg's q values: of the tests with a q of at most
// 5 %, 5 % are expected to be false.
func adjusted(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	q := make([]float64, len(p))
	least := 1.0
	for rank := len(p); rank > 0; rank-- {
		i := order[rank-1]
		least = min(least, p[i]*float64(len(p))/float64(rank))
		q[i] = least
	}
	return q
}
