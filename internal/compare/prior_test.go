// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func close(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// same returns a pair with the same moments on both sides.
func same(n, variance, counting float64) pair {
	m := moments{n: n, variance: variance, counting: counting}
	return pair{m, m}
}

// The fit finds the line of the variances, within its bounds.
func TestFit(t *testing.T) {
	parts := func(clusters, common float64) (all []pair) {
		for i := range 20 {
			x := 0.01 * float64(i+1)
			all = append(all, same(3, clusters*x+common, x))
		}
		return all
	}
	for _, test := range []struct{ clusters, common, wantClusters, wantCommon float64 }{
		{3, 0.5, 3, 0.5}, {2, 0, 2, 0}, {0.5, 0, 1, 0}, {1, 0.2, 1, 0.2},
	} {
		clusters, common := fit(parts(test.clusters, test.common))
		close(t, "clusters", clusters, test.wantClusters)
		close(t, "common", common, test.wantCommon)
	}
	// Below zero, the common part is zero.
	if clusters, common := fit(parts(2, -0.005)); common != 0 || clusters < 1 || clusters >= 2 {
		t.Errorf("got %v, %v", clusters, common)
	}
	// Below one, the common part explains the rest.
	if clusters, common := fit(parts(0.5, 0.5)); clusters != 1 || common <= 0 || common >= 0.5 {
		t.Errorf("got %v, %v", clusters, common)
	}
}

// The prior has the scale of the variances above the expected ones, and at most 30 degrees.
func TestPrior(t *testing.T) {
	parts := slices.Repeat([]pair{same(3, 0.01, 0.01)}, 10)
	p := newPrior(slices.Repeat([]pair{same(3, 0.04, 0.01)}, 10), parts)
	close(t, "degrees", p.degrees, 30)
	// The mean logarithm of variances with 4 degrees is digamma(2) - log(2) too low.
	close(t, "scale", p.scale, 4*2/math.Exp(0.42278433509846713))
	close(t, "least scale", newPrior(slices.Repeat([]pair{same(3, 0.0001, 0.01)}, 10), parts).scale, 1)

	var spread []pair
	for i := range 20 {
		spread = append(spread, same(3, 0.01*math.Exp(3*float64(i%2)), 0.01))
	}
	p = newPrior(spread, parts)
	excess := 9.0/4*20/19 - trigamma(2)
	close(t, "degrees of a spread", p.degrees, 2*inverse(trigamma, excess))
	close(t, "scale of a spread", p.scale, math.Exp(1.5-digamma(2)+math.Log(2)+digamma(p.degrees/2)-math.Log(p.degrees/2)))

	// A small excess would have more degrees.
	for i := range spread {
		spread[i] = same(3, 0.01*math.Exp(1.62*float64(i%2)), 0.01)
	}
	close(t, "most degrees", newPrior(spread, parts).degrees, 30)

	none := same(3, 0, 0.01)
	for what, p := range map[string]prior{
		"nine tests": newPrior(parts[:9], parts), "nine parts": newPrior(parts, parts[:9]),
		"nine variances": newPrior(append(parts[:9:9], none), parts),
	} {
		if p.degrees != 0 {
			t.Errorf("%s: %+v, want no prior", what, p)
		}
	}
}

func TestShrunk(t *testing.T) {
	p := prior{clusters: 2, common: 0.1, scale: 1.5, degrees: 10}
	m := moments{n: 3, variance: 0.05, counting: 0.01}
	trust := 10 * (0.02 / 0.12) * (0.02 / 0.12)
	variance, degrees := p.shrunk(m)
	close(t, "variance", variance, (trust*1.5*0.12+2*0.05)/(trust+2))
	close(t, "degrees", degrees, trust+2)
	m.counting = 0.3
	variance, _ = p.shrunk(m)
	trust = 10 * (0.6 / 0.7) * (0.6 / 0.7)
	close(t, "larger", variance, (trust*1.5*0.7+2*0.05)/(trust+2))
	if variance, degrees = (prior{}).shrunk(m); variance != 0.3 || degrees != 2 {
		t.Errorf("without a prior: got %v, %v", variance, degrees)
	}
	m.counting = 0.01
	if variance, degrees = (prior{}).shrunk(m); variance != 0.05 || degrees != 2 {
		t.Errorf("without a prior: got %v, %v", variance, degrees)
	}
	// A variance of counting is the least.
	p.scale, m.variance, m.counting = 0.1, 0, 1
	if variance, _ = p.shrunk(m); variance != 1 {
		t.Errorf("got %v, want 1", variance)
	}
}

// Two samples of three with known results (R: t.test, Welch).
func TestWelch(t *testing.T) {
	s := prior{}.welch(pair{momentsOf([]float64{1, 2, 3}), momentsOf([]float64{4, 6, 11})})
	close(t, "difference", s.difference, 5)
	close(t, "deviation", s.deviation, math.Sqrt(1.0/3+13.0/3))
	close(t, "degrees", s.degrees, (14.0/3)*(14.0/3)/(1.0/18+169.0/18))
	if s.p() < 0.1 || s.p() > 0.2 {
		t.Errorf("p %v", s.p())
	}
	test := s.test(0.04, 0.05)
	if !test.Moved || test.P != 0.04 || test.Q != 0.05 || s.test(0.04, 0.0501).Moved {
		t.Errorf("got %+v", test)
	}
	margin := s.deviation * quantile(0.025, s.degrees)
	close(t, "low", test.Low, math.Exp(5-margin))
	close(t, "high", test.High, math.Exp(5+margin))
	if p := (statistic{}).p(); p != 1 {
		t.Errorf("no difference: p %v", p)
	}
	if p := (statistic{difference: 1}).p(); p != 0 {
		t.Errorf("no deviation: p %v", p)
	}
	if test := (statistic{difference: 1}).test(0, 0); test.Low != math.E || test.High != math.E {
		t.Errorf("no deviation: %+v", test)
	}
}

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
	if ratio, noise := Ratio([]float64{1, 1}, []float64{2, 2}); ratio != 2 || noise != 1 {
		t.Errorf("without noise: got %v, %v, want 2, 1", ratio, noise)
	}
	if ratio, _ := Ratio([]float64{1}, []float64{1, 2}); !math.IsNaN(ratio) {
		t.Errorf("of one value: got %v", ratio)
	}
}
