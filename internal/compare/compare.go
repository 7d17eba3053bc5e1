// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare finds what moved between two sets of CPU profiles, beyond noise: two
// versions of a service, for example.
//
//	before, after := compare.NewSide(""), compare.NewSide("")
//	err := before.Add("replica-1", profile) // and all others
//	result, err := compare.Compare(before, after, "")
//
// # What is compared
//
// Samples are not independent draws. Samples of one request come in clusters, and two runs of
// one binary differ. So a test of two proportions flags many functions between runs of one
// binary. Here the units are runs of a process, or replicas: each is one number per function.
// Three runs a side are needed. With fewer, nothing is tested. Five find much smaller changes.
//
// The number is the logarithm of CPU time: per request ([Side.SetWork]), per second, or as a
// share of the total. Zero has no logarithm. So half a sample of a mean run is added.
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
	"math"
	"slices"
)

// fewSamples is the mean number of samples in a unit, over both sides, below which a
// function is not tested: below it the logarithm of a count is far from normal. It does
// not depend on how the sides differ, and so does not favour what differs by chance.
const fewSamples = 10

// nearlyAll is the part of a function's total from which on its self time is the same
// thing.
const nearlyAll = 0.98

// Compare compares two sides. CPU time is divided by per; "" is requests if both
// sides have a number of them, seconds if all profiles have a duration, else the total. It returns an error if a side has no CPU sample, or no work to divide by.
func Compare(before, after *Side, per Per) (*Result, error) {
	per = cmp.Or(per, perOf(before, after))
	r := &Result{Per: per}
	sizes, lists := []*Size{&r.Before, &r.After}, [2][]unit{}
	for i, s := range []*Side{before, after} {
		list, leftOut := units(s, per)
		lists[i], *sizes[i] = list, Size{Runs: len(list), LeftOut: leftOut}
		for _, u := range list {
			sizes[i].Samples += u.samples
		}
		side := []string{"before", "after"}[i]
		switch {
		case len(s.runs) == 0:
			return nil, errors.New("compare: " + side + " has no CPU profile")
		case len(list) == 0:
			return nil, errors.New("compare: no profile of " + side + " has a number of " + string(per) + "s to divide by")
		case sizes[i].Samples == 0:
			return nil, errors.New("compare: the profiles of side " + side + " have no sample that meets the conditions asked for")
		}
	}
	r.Repeated = min(r.Before.Runs, r.After.Runs) >= enough
	c := newComparison(lists[0], lists[1])
	if c.all.total == 0 {
		return nil, errors.New("compare: the samples of both sides have no CPU time")
	}
	c.fill(r)
	return r, nil
}

// comparison is two lists of units.
type comparison struct {
	before, after []unit
	all           sums    // of both sides
	work          float64 // of a unit, on average
	sample        float64 // the nanoseconds of a sample
}

func newComparison(before, after []unit) *comparison {
	c := &comparison{before: before, after: after, all: newSums()}
	samples := 0.0
	for _, u := range slices.Concat(before, after) {
		c.all.add(u.sums)
		samples += u.samples
		c.work += u.per / float64(len(before)+len(after))
	}
	c.sample = c.all.total / samples
	return c
}

// measure reads one value of a unit.
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
	r.Total, _ = c.change(total)
	var (
		changes []*Change // that are tested, with
		pairs   []pair
		parts   []pair // that share no sample
	)
	test := func(change *Change, m measure) {
		var p pair
		*change, p = c.change(m)
		if r.Repeated {
			changes, pairs = append(changes, change), append(pairs, p)
		}
	}
	r.Functions = make([]Function, 0, len(c.all.functions))
	for name, all := range c.all.functions {
		r.Functions = append(r.Functions, Function{Name: name})
		f := &r.Functions[len(r.Functions)-1] // there is room for all
		f.Total, _ = c.change(totalOf(name))
		var self pair
		f.Self, self = c.change(selfOf(name))
		if c.testable(all.total) {
			test(&f.Total, totalOf(name))
		}
		if !c.testable(all.self) {
			continue
		}
		parts = append(parts, self)
		if all.self < nearlyAll*all.total {
			test(&f.Self, selfOf(name))
		}
	}
	if r.Repeated {
		c.test(r, changes, pairs, parts)
	}
	r.summarize()
	slices.SortFunc(r.Functions, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.moves(), a.moves()), cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
	})
}

// test tests the total by itself, and the functions together.
func (c *comparison) test(r *Result, changes []*Change, pairs, parts []pair) {
	_, all := c.change(total)
	if r.Per != PerShare {
		s := prior{}.welch(all)
		r.Total.Test = s.test(s.p(), s.p())
	}
	common := newPrior(pairs, parts)
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
func (c *comparison) side(units []unit, m measure, all float64) (float64, moments) {
	n := float64(len(units))
	sum, counting, logs := 0.0, 0.0, make([]float64, len(units))
	for i, u := range units {
		v := m(u.sums)
		sum += v / u.per / n
		// Half a sample more in a unit of mean work: zero has no logarithm.
		logs[i] = math.Log(v/u.per + c.sample/2/c.work)
		counting += c.work / u.per / n
	}
	y := momentsOf(logs)
	samples := all / c.sample / float64(len(c.before)+len(c.after)) // of a unit, on average
	y.counting = counting * (1 - min(1, all/c.all.total)) / samples
	return sum, y
}

// summarize sets what follows from the tests of the functions.
func (r *Result) summarize() {
	for i := range r.Functions {
		f := &r.Functions[i]
		f.Moved = f.Total.Moved() || f.Self.Moved()
		if f.Total.Test != nil || f.Self.Test != nil {
			r.Tested++
		}
	}
}

// moves is the number of a function's changes beyond noise, at most 1.
func (f Function) moves() int {
	if f.Moved {
		return 1
	}
	return 0
}

// size is how much CPU time a function differs.
func (f Function) size() float64 {
	if f.Self.Moved() && !f.Total.Moved() {
		return math.Abs(f.Self.After - f.Self.Before)
	}
	return math.Abs(f.Total.After - f.Total.Before)
}
