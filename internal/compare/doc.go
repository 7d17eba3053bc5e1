// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare finds what moved between two sets of CPU profiles, beyond noise: two
// versions of a service, for example.
//
//	before, after := compare.NewSide(compare.Selection{}), compare.NewSide(compare.Selection{})
//	err := before.Add("replica-1", profile) // and all others
//	result, err := compare.Compare(before, after, "")
//
// # What is compared
//
// Samples are not independent draws. Samples of one request come in clusters, and two runs of
// one binary differ. So a test of two proportions flags many functions between runs of one
// binary. Here the units are runs of a process, or replicas: each is one number per function.
// Three runs a side are needed. Five find much smaller changes. With fewer runs, their
// profiles are the units ([UnitWindow]). With a single profile nothing is tested ([UnitNone]).
//
// The number is the logarithm of CPU time: per request ([Side.SetWork]), per second, or as a
// share of the total. Zero has no logarithm. So half a sample of a mean run is added.
// The difference of the means is the ratio of the two sides.
//
// Each function is tested with its callees: a stack counts once per function. It is also
// tested without them if its self time is less than 98 % of its total. Functions with fewer
// than ten samples a run, on average over both sides, are not tested. Their self time is the
// row [Others].
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
//
// Heap profiles are compared without a test.
package compare
