// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"math"
	"slices"
)

// twoSided returns how likely a value of Student's distribution is at least as far from
// zero as t. The degrees of freedom need not be whole. With t = sqrt(df)/tan(u) the density
// is a power of the sine, which Simpson's rule integrates.
func twoSided(t, df float64) float64 {
	const steps = 100
	h := math.Atan(math.Sqrt(df)/math.Abs(t)) / steps
	height := func(i int) float64 { return math.Pow(math.Sin(float64(i)*h), df-1) }
	sum := height(0) - height(steps)
	for i := 1; i < steps; i += 2 {
		sum += 4*height(i) + 2*height(i+1)
	}
	above, _ := math.Lgamma((df + 1) / 2)
	below, _ := math.Lgamma(df / 2)
	return 2 * math.Exp(above-below) / math.Sqrt(math.Pi) * sum * h / 3
}

// quantile returns the t that a value of Student's distribution exceeds with probability
// p, for p up to one half.
func quantile(p, df float64) float64 {
	high := 1.0
	for twoSided(high, df) > 2*p {
		high *= 2
	}
	low := 0.0
	for range 30 { // to nine digits
		if mid := low + (high-low)/2; twoSided(mid, df) > 2*p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

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
