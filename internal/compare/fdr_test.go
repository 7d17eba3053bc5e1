// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"slices"
	"testing"
)

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
		{"inverseTrigamma(trigamma(3))", inverseTrigamma(trigamma(3)), 3},
		{"inverseTrigamma(trigamma(0.2))", inverseTrigamma(trigamma(0.2)), 0.2},
	} {
		if math.Abs(test.got-test.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", test.name, test.got, test.want)
		}
	}
}
