// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare finds what moved between two sets of CPU profiles, beyond noise: two
// versions of a service, for example.
//
//	before, after := compare.NewSide(""), compare.NewSide("")
//	err := before.Add("replica-1", profile) // and all others
//	result, err := compare.Compare(before, after)
//
// # What is compared
//
// Samples are not independent draws. Samples of one request come in clusters, and two runs of
// one binary differ. So a test of two proportions flags many functions between runs of one
// binary. Here the units are runs of a process, or replicas: each is one number per function.
// Three runs a side are needed. With fewer, nothing is tested. Five find much smaller changes.
//
// The number is the logarithm of CPU time: per request ([Side.SetWork]) or per second. Zero
// has no logarithm. So half a sample of a mean run is added.
// The difference of the means is the ratio of the two sides.
//
// Each function is tested with its callees: a stack counts once per function. It is also
// tested without them if its self time is less than 98 % of its total. Functions with fewer
// than ten samples a run, on average over both sides, are not tested.
//
// # The test
//
// It is Welch's t. Benjamini and Hochberg's method holds the rate of false discoveries at 5 %
// over all tests. A variance of three runs is unreliable. So each is drawn to a common model.
// One part is a multiple of the variance of counting, because samples come in clusters. The
// other part is common to all functions, such as a slower machine. How far depends on how alike the functions
// are. No variance is below the variance of counting. Functions that call each other are not
// independent. Benjamini and Hochberg's method allows for such tests, which tend to move
// together.
//
// An interval is for its function alone: of 100 intervals 95 have the true ratio.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// fewSamples is the mean number of samples in a run, over both sides, below which a
// function is not tested: below it the logarithm of a count is far from normal. It does
// not depend on how the sides differ, and so does not favour what differs by chance.
const fewSamples = 10

// nearlyAll is the part of a function's total from which on its self time is the same
// thing.
const nearlyAll = 0.98

// Compare compares two sides. CPU time is divided by requests if all runs have a number of
// them, else by seconds. It is an error if a side has no CPU sample. Without
// requests, it is an error if a run has no duration.
func Compare(before, after *Side) (*Result, error) {
	per, err := divide(slices.Concat(before.runs, after.runs))
	if err != nil {
		return nil, err
	}
	r := &Result{Per: per, Before: before.size(), After: after.size()}
	if r.Before.Samples == 0 || r.After.Samples == 0 {
		return nil, fmt.Errorf("compare: %v samples before and %v after meet the conditions: each side must have some", r.Before.Samples, r.After.Samples)
	}
	r.Repeated = min(r.Before.Runs, r.After.Runs) >= enough
	c := newComparison(before.runs, after.runs)
	if c.all.total == 0 {
		return nil, errors.New("compare: the samples of both sides have no CPU time")
	}
	c.fill(r)
	return r, nil
}

// comparison is the runs of two sides.
type comparison struct {
	before, after []*run
	all           sums    // of both sides
	work          float64 // of a run, on average
	sample        float64 // the nanoseconds of a sample
}

func newComparison(before, after []*run) *comparison {
	c := &comparison{before: before, after: after, all: newSums()}
	samples := 0.0
	for _, r := range slices.Concat(before, after) {
		c.all.add(r.sums)
		samples += r.samples
		c.work += r.per / float64(len(before)+len(after))
	}
	c.sample = c.all.total / samples
	return c
}

// measure reads one value of a run.
type measure func(sums) float64

func total(s sums) float64 { return s.total }

func totalOf(name string) measure { return func(s sums) float64 { return s.functions[name].total } }

func selfOf(name string) measure { return func(s sums) float64 { return s.functions[name].self } }

// testable reports whether there are enough samples for a test.
func (c *comparison) testable(ns float64) bool {
	return ns/c.sample >= fewSamples*float64(len(c.before)+len(c.after))
}

// fill writes what moved to r.
func (c *comparison) fill(r *Result) {
	var (
		changes []*Change // that are tested, with
		pairs   []pair
		parts   []pair // that share no sample
		all     pair
	)
	r.Total, all = c.change(total)
	r.Functions = make([]Function, 0, len(c.all.functions))
	for name, sum := range c.all.functions {
		r.Functions = append(r.Functions, Function{Name: name})
		f := &r.Functions[len(r.Functions)-1] // there is room for all
		var whole, self pair
		f.Total, whole = c.change(totalOf(name))
		f.Self, self = c.change(selfOf(name))
		if c.testable(sum.total) {
			changes, pairs = append(changes, &f.Total), append(pairs, whole)
		}
		if !c.testable(sum.self) {
			continue
		}
		parts = append(parts, self)
		if sum.self < nearlyAll*sum.total {
			changes, pairs = append(changes, &f.Self), append(pairs, self)
		}
	}
	if r.Repeated {
		s := prior{}.welch(all)
		r.Total.Test = s.test(s.p(), s.p())
		test(changes, pairs, newPrior(pairs, parts))
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		f.Moved = f.Total.Moved() || f.Self.Moved()
		if f.Total.Test != nil || f.Self.Test != nil {
			r.Tested++
		}
	}
	slices.SortFunc(r.Functions, func(a, b Function) int {
		switch {
		case a.Moved && !b.Moved:
			return -1
		case b.Moved && !a.Moved:
			return 1
		}
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
	})
}

// test tests changes together.
func test(changes []*Change, pairs []pair, common prior) {
	statistics, p := make([]statistic, len(pairs)), make([]float64, len(pairs))
	for i := range pairs {
		statistics[i] = common.welch(pairs[i])
		p[i] = statistics[i].p()
	}
	for i, q := range adjusted(p) {
		changes[i].Test = statistics[i].test(p[i], q)
	}
}

// change compares one value.
func (c *comparison) change(m measure) (Change, pair) {
	v := m(c.all)
	before, b := c.side(c.before, m, v)
	after, a := c.side(c.after, m, v)
	return Change{Before: before, After: after, Ratio: math.Exp(a.mean - b.mean)}, pair{b, a}
}

// side returns the mean of a value on one side, and the moments of its logarithm. all is
// the value of both sides.
func (c *comparison) side(runs []*run, m measure, all float64) (float64, moments) {
	n := float64(len(runs))
	sum, counting, logs := 0.0, 0.0, make([]float64, len(runs))
	for i, r := range runs {
		v := m(r.sums)
		sum += v / r.per / n
		// Half a sample more in a run of mean work: zero has no logarithm.
		logs[i] = math.Log(v/r.per + c.sample/2/c.work)
		counting += c.work / r.per / n
	}
	y := momentsOf(logs)
	samples := all / c.sample / float64(len(c.before)+len(c.after)) // of a run, on average
	y.counting = counting * (1 - min(1, all/c.all.total)) / samples
	return sum, y
}

// size is how much CPU time a function differs.
func (f Function) size() float64 {
	if f.Self.Moved() && !f.Total.Moved() {
		return math.Abs(f.Self.After - f.Self.Before)
	}
	return math.Abs(f.Total.After - f.Total.Before)
}
