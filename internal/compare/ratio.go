// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "math"

// Ratio returns the ratio of the means of two sets of values above zero. Without a difference it
// is between 1/noise and noise in 99 % of comparisons. It is NaN if a set has fewer than two values.
func Ratio(before, after []float64) (ratio, noise float64) {
	logs := func(values []float64) moments {
		y := make([]float64, len(values))
		for i, v := range values {
			y[i] = math.Log(v)
		}
		return momentsOf(y)
	}
	v := pair{logs(before), logs(after)}
	if v.before.n < 2 || v.after.n < 2 {
		return math.NaN(), math.NaN()
	}
	s := prior{}.welch(v)
	if s.deviation == 0 {
		return math.Exp(s.difference), 1
	}
	return math.Exp(s.difference), math.Exp(s.deviation * quantile(0.005, s.degrees))
}
