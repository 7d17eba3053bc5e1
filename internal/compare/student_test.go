// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"testing"
)

// The table that every book of statistics has: t by degrees of freedom, for two-sided
// probabilities of 10, 5, 1 and 0.1 %.
func TestQuantile(t *testing.T) {
	for df, want := range map[float64][4]float64{
		1:           {6.314, 12.706, 63.657, 636.619},
		2:           {2.920, 4.303, 9.925, 31.599},
		3:           {2.353, 3.182, 5.841, 12.924},
		4:           {2.132, 2.776, 4.604, 8.610},
		5:           {2.015, 2.571, 4.032, 6.869},
		8:           {1.860, 2.306, 3.355, 5.041},
		10:          {1.812, 2.228, 3.169, 4.587},
		30:          {1.697, 2.042, 2.750, 3.646},
		120:         {1.658, 1.980, 2.617, 3.373},
		1e6:         {1.645, 1.960, 2.576, 3.291},
		math.Inf(1): {1.645, 1.960, 2.576, 3.291},
	} {
		for i, p := range []float64{0.10, 0.05, 0.01, 0.001} {
			if got := quantile(p/2, df); math.Abs(got-want[i]) > 0.0006 {
				t.Errorf("quantile(%v, %v) = %.4f, want %.3f", p/2, df, got, want[i])
			}
			if got := twoSided(quantile(p/2, df), df); math.Abs(got-p) > 1e-9 {
				t.Errorf("%v degrees: twoSided of the quantile of %v is %v", df, p, got)
			}
		}
	}
}

// With one and with two degrees of freedom Student's distribution has a closed form.
func TestTwoSided(t *testing.T) {
	for _, x := range []float64{0, 1e-9, 0.1, 1, 2.5, 40, 1e6} {
		one := 1 - 2/math.Pi*math.Atan(x)
		if got := twoSided(x, 1); math.Abs(got-one) > 1e-9 {
			t.Errorf("twoSided(%v, 1) = %v, want %v", x, got, one)
		}
		two := 1 - x/math.Sqrt(2+x*x)
		if got := twoSided(-x, 2); math.Abs(got-two) > 1e-9 {
			t.Errorf("twoSided(%v, 2) = %v, want %v", -x, got, two)
		}
	}
	if got := twoSided(math.Inf(1), 4); got != 0 {
		t.Errorf("twoSided(Inf, 4) = %v", got)
	}
}
