// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Of comparisons without a difference 1 % are beyond the noise. A planted one is found.
func TestRatio(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := func(by float64) []float64 {
		v := make([]float64, 10)
		for i := range v {
			v[i] = by * math.Exp(0.05*random.NormFloat64())
		}
		return v
	}
	beyond, found := 0, 0
	for range 2000 {
		if ratio, noise := Ratio(values(1), values(1)); ratio > noise || ratio < 1/noise {
			beyond++
		}
		if ratio, noise := Ratio(values(1), values(1.2)); ratio > noise && ratio > 1.1 && ratio < 1.3 {
			found++
		}
	}
	if beyond < 8 || beyond > 36 || found < 1990 {
		t.Errorf("%d of 2000 beyond the noise, want about 20; %d of 2000 found", beyond, found)
	}
	if ratio, _ := Ratio([]float64{1}, []float64{1, 2}); !math.IsNaN(ratio) {
		t.Errorf("of one value: got %v", ratio)
	}
}
