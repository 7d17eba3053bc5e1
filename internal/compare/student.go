// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"math"
	"slices"
)

// twoSided returns how likely a value of Student's distribution is at least as far from
// zero as t. The degrees of freedom need not be whole.
func twoSided(t, df float64) float64 {
	return incompleteBeta(df/2, 0.5, df/(df+t*t))
}

// quantile returns the t that a value of Student's distribution exceeds with probability
// p, for p up to one half.
func quantile(p, df float64) float64 {
	return inverse(func(t float64) float64 { return twoSided(t, df) }, 2*p)
}

// incompleteBeta is the regularized incomplete beta function, for 0 <= x <= 1.
func incompleteBeta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges fast
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	return front * betaFraction(a, b, x)
}

// betaFraction is the continued fraction of the incomplete beta function (DLMF 8.17.22),
// from the front, by Lentz's method.
func betaFraction(a, b, x float64) float64 {
	const tiny, enough, most = 1e-300, 1e-15, 10000
	apart := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/apart(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < most; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/apart(1+even*d), apart(1+even/c)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/apart(1+odd*d), apart(1+odd/c)
		f *= c * d
		if math.Abs(c*d-1) < enough {
			break
		}
	}
	return f
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

// digamma is the derivative of the logarithm of the gamma function, for x above 0.
func digamma(x float64) float64 {
	sum := 0.0
	for ; x < 10; x++ {
		sum -= 1 / x
	}
	f := 1 / (x * x)
	return sum + math.Log(x) - 0.5/x - f*(1.0/12-f*(1.0/120-f/252))
}

// trigamma is the derivative of digamma.
func trigamma(x float64) float64 {
	sum := 0.0
	for ; x < 10; x++ {
		sum += 1 / (x * x)
	}
	f := 1 / (x * x)
	return sum + 1/x + f/2 + f/x*(1.0/6-f*(1.0/30-f/42))
}

// inverse returns the x from 1e-9 to 1e9 at which f, which falls, is y.
func inverse(f func(float64) float64, y float64) float64 {
	low, high := 1e-9, 1e9
	for range 100 { // halving its logarithm leaves no digit open
		mid := math.Sqrt(low * high)
		if f(mid) > y {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
