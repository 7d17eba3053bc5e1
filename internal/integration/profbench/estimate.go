// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// resamples is the number of bootstrap samples per interval.
const resamples = 4000

// estimate is a figure with its 95 % interval.
type estimate struct{ value, low, high float64 }

// estimateOf returns the mean of the middle three fifths of xs, which outliers of a
// shared machine do not move. The interval is a bootstrap: 95 % of the same means over
// samples of xs with replacement lie in it.
func estimateOf(xs []float64) estimate {
	// The same figures give the same interval.
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // nothing here is secret
	means := make([]float64, resamples)
	drawn := make([]float64, len(xs))
	for i := range means {
		for j := range drawn {
			drawn[j] = xs[random.IntN(len(xs))]
		}
		means[i] = middle(drawn)
	}
	slices.Sort(means)
	return estimate{middle(slices.Clone(xs)), means[resamples/40], means[resamples-1-resamples/40]}
}

// middle sorts xs and returns the mean without the lowest and highest fifth.
func middle(xs []float64) float64 {
	slices.Sort(xs)
	xs = xs[len(xs)/5 : len(xs)-len(xs)/5]
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// add returns the sum of two figures, with the widest interval that both allow.
func (e estimate) add(o estimate) estimate {
	return estimate{e.value + o.value, e.low + o.low, e.high + o.high}
}

func (e estimate) scale(f float64) estimate {
	return estimate{f * e.value, f * e.low, f * e.high}
}

// String returns the figure and its interval as columns of a table, in percent.
func (e estimate) String() string {
	return fmt.Sprintf("%+.2f %%\t%+.2f to %+.2f %%", e.value, e.low, e.high)
}
