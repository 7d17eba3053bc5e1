// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "math"

// moments is the mean of some logarithms on one side, and how they vary.
type moments struct {
	n              float64
	mean, variance float64
	// counting is the variance that the number of samples alone makes, if each
	// came by itself.
	counting float64
}

func momentsOf(y []float64) moments {
	m := moments{n: float64(len(y))}
	for _, v := range y {
		m.mean += v / m.n
	}
	if m.n < 2 {
		return m // one value has no variance
	}
	for _, v := range y {
		m.variance += (v - m.mean) * (v - m.mean) / (m.n - 1)
	}
	return m
}

// pair is one value on both sides.
type pair struct{ before, after moments }

func (p pair) degrees() float64 { return p.before.n + p.after.n - 2 }

// pooled is the variance of both sides together.
func (p pair) pooled() float64 {
	return ((p.before.n-1)*p.before.variance + (p.after.n-1)*p.after.variance) / p.degrees()
}

func (p pair) counting() float64 { return (p.before.counting + p.after.counting) / 2 }

// prior is an estimate of the noise of each function from all functions. Three runs are few
// to estimate how much a function varies. Some dozens of functions show how much samples
// come in clusters, and what the machine does to all of them. It is the prior of Smyth's
// moderated t statistic, for variances in multiples of the expected ones. (Linear models and
// empirical Bayes methods for assessing differential expression, 2004.)
type prior struct {
	clusters float64 // expected variance, in multiples of the counting variance,
	common   float64 // and beside it, as on a machine that is now slower, now faster
	scale    float64 // the usual variance in multiples of the expected one
	degrees  float64 // its degrees of freedom; 0 for no prior
}

const (
	// fewest is the number of tests below which their variances are no estimate of
	// each other.
	fewest = 10
	// mostDegrees bounds the trust in the prior: functions that call each other
	// are counted as if they varied each for itself.
	mostDegrees = 30
)

// newPrior learns from the values that are tested. parts are functions by their self
// time, which share no sample.
func newPrior(pairs, parts []pair) prior {
	if len(pairs) < fewest || len(parts) < fewest {
		return prior{}
	}
	var p prior
	p.clusters, p.common = fit(parts)
	var logs []float64
	for _, pair := range pairs {
		expected := p.clusters*pair.counting() + p.common
		if v := pair.pooled(); v > 0 && expected > 0 {
			logs = append(logs, math.Log(v/expected))
		}
	}
	if len(logs) < fewest {
		return prior{}
	}
	// The logarithm of a variance estimated with df degrees of freedom has a known
	// mean and variance. What is above that is how functions differ.
	m, df := momentsOf(logs), pairs[0].degrees()
	mean := m.mean - digamma(df/2) + math.Log(df/2)
	p.degrees = mostDegrees
	if excess := m.variance - trigamma(df/2); excess > 0 {
		p.degrees = min(mostDegrees, 2*inverse(trigamma, excess))
		mean += digamma(p.degrees/2) - math.Log(p.degrees/2)
	}
	p.scale = max(1, math.Exp(mean))
	return p
}

// fit explains the variances of parts. They are a multiple of their counting variances, at
// least 1, and a common part, at least 0. Larger variances are less exact, and so have less weight.
// The weights improve from step to step.
func fit(parts []pair) (clusters, common float64) {
	clusters = 1
	for range 30 {
		var w, wx, wxx, wy, wxy float64
		for _, p := range parts {
			x, y := p.counting(), p.pooled()
			weight := 1 / ((clusters*x + common) * (clusters*x + common))
			w += weight
			wx += weight * x
			wxx += weight * x * x
			wy += weight * y
			wxy += weight * x * y
		}
		if determinant := w*wxx - wx*wx; determinant > 1e-9*w*wxx {
			clusters, common = (w*wxy-wx*wy)/determinant, (wxx*wy-wx*wxy)/determinant
		}
		if common < 0 {
			clusters, common = wxy/wxx, 0
		}
		if clusters < 1 {
			clusters, common = 1, max(0, (wy-wx)/w)
		}
	}
	return clusters, common
}

// shrunk returns the variance of one side of a value, and its degrees of freedom. It is
// between the variance of its own units and the prior.
func (p prior) shrunk(m moments) (variance, degrees float64) {
	own := m.n - 1
	clusters := p.clusters * m.counting
	expected := clusters + p.common
	if p.degrees == 0 || expected == 0 {
		return max(m.variance, m.counting), own
	}
	// What is common to all functions has been estimated once, and not by each of
	// them. The more of the noise it is, the less trust the others deserve.
	trust := p.degrees * (clusters / expected) * (clusters / expected)
	return max(m.counting, (trust*p.scale*expected+own*m.variance)/(trust+own)), trust + own
}

// welch compares both sides by Welch's t statistic.
func (p prior) welch(v pair) statistic {
	vb, db := p.shrunk(v.before)
	va, da := p.shrunk(v.after)
	b, a := vb/v.before.n, va/v.after.n
	s := statistic{difference: v.after.mean - v.before.mean, deviation: math.Sqrt(a + b)}
	if s.deviation > 0 {
		s.degrees = (a + b) * (a + b) / (a*a/da + b*b/db)
	}
	return s
}

// statistic is the difference of two means of logarithms with its standard deviation.
type statistic struct{ difference, deviation, degrees float64 }

func (s statistic) p() float64 {
	switch {
	case s.difference == 0:
		return 1
	case s.deviation == 0:
		return 0
	}
	return twoSided(s.difference/s.deviation, s.degrees)
}

// test returns the test of one of some values.
func (s statistic) test(p, q float64) *Test {
	t := &Test{P: p, Q: q, Moved: q <= level, Low: math.Exp(s.difference), High: math.Exp(s.difference)}
	if s.deviation > 0 {
		margin := s.deviation * quantile(level/2, s.degrees)
		t.Low, t.High = math.Exp(s.difference-margin), math.Exp(s.difference+margin)
	}
	return t
}

// level is the q of a change beyond noise, and 1 less the confidence of intervals.
const level = 0.05

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
