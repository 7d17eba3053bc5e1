// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"slices"
	"testing"
)

// The table that every book of statistics has: t by degrees of freedom, for two-sided
// probabilities of 10, 5, 1 and 0.1 %.
func TestQuantile(t *testing.T) {
	for df, want := range map[float64][4]float64{
		1:   {6.314, 12.706, 63.657, 636.619},
		2:   {2.920, 4.303, 9.925, 31.599},
		3:   {2.353, 3.182, 5.841, 12.924},
		4:   {2.132, 2.776, 4.604, 8.610},
		5:   {2.015, 2.571, 4.032, 6.869},
		8:   {1.860, 2.306, 3.355, 5.041},
		10:  {1.812, 2.228, 3.169, 4.587},
		30:  {1.697, 2.042, 2.750, 3.646},
		120: {1.658, 1.980, 2.617, 3.373},
		1e6: {1.645, 1.960, 2.576, 3.291},
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

// The example of Benjamini and Hochberg's paper (1995), in another order: of fifteen
// tests four are significant at 5 %.
func TestAdjusted(t *testing.T) {
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	slices.Reverse(p)
	q := adjusted(p)
	moved := 0
	for i := range q {
		if q[i] <= level {
			moved++
		}
		if q[i] < p[i] {
			t.Errorf("p %v has q %v", p[i], q[i])
		}
	}
	if moved != 4 {
		t.Errorf("%d are significant, want 4: %v", moved, q)
	}
	if got := q[len(q)-1]; math.Abs(got-0.0015) > 1e-12 {
		t.Errorf("the least q is %v, want 15 * 0.0001", got)
	}
	for i, q := range adjusted([]float64{0.04, 0.01, 0.05, 0.03, 0.02}) {
		if math.Abs(q-0.05) > 1e-12 {
			t.Errorf("even steps: q %d is %v, want 0.05", i, q)
		}
	}
	if got := adjusted(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestGamma(t *testing.T) {
	const euler = 0.57721566490153286
	for _, test := range []struct {
		name      string
		got, want float64
	}{
		{"digamma(1)", digamma(1), -euler},
		{"digamma(1/2)", digamma(0.5), -euler - 2*math.Ln2},
		{"digamma(100)", digamma(100), 4.600161852738087},
		{"trigamma(1)", trigamma(1), math.Pi * math.Pi / 6},
		{"trigamma(1/2)", trigamma(0.5), math.Pi * math.Pi / 2},
		{"inverse(trigamma, trigamma(3))", inverse(trigamma, trigamma(3)), 3},
		{"inverse(trigamma, trigamma(0.2))", inverse(trigamma, trigamma(0.2)), 0.2},
	} {
		if math.Abs(test.got-test.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", test.name, test.got, test.want)
		}
	}
}
