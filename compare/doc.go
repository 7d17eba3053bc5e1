// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare tells what moved between two sets of CPU profiles: two versions of a
// service, say, and which of the differences are noise.
//
//	before, after := compare.NewSide(compare.Selection{}), compare.NewSide(compare.Selection{})
//	err := before.Add("replica-1", profile) // and all others
//	result, err := compare.Compare(before, after, "")
//
// # What is compared
//
// Samples are no independent draws: those of one request come in clusters, and two runs
// of one binary differ. A test of two proportions, which takes each sample for itself,
// therefore flags many functions between runs of the same binary. What is compared here
// are runs of a process, or replicas: each is one number for each function. Three a side
// are needed; five find much smaller changes. With fewer runs the profiles of a run have
// to do ([UnitWindow]), and with a single profile nothing is tested ([UnitNone]).
//
// The number is the logarithm of CPU time per request ([Side.SetWork]), per second, or as
// a share of the total ([Per]), with half a sample of a mean run added, as zero has no
// logarithm. The difference of its means is the ratio of the two sides.
//
// Each function is tested by what it takes with its callees, where a stack counts once
// however often the function is on it, and by what it takes itself, where that is less
// than 98 % of it. Functions with fewer than ten samples a run, on average over both
// sides, are not tested. Their self time is the row [Others].
//
// # The test
//
// It is Welch's t, with the rate of false discoveries held at 5 % over all tests by
// Benjamini and Hochberg's method. A variance of three runs says little. So each is
// drawn to what the functions tell together: that of counting, in a multiple that says
// how much samples come in clusters, and a part that all functions have in common, such
// as a machine that is now slower. How far depends on how alike the functions are. No
// variance is below that of counting. Functions that call each other are not
// independent: Benjamini and Hochberg's method allows for such tests, which tend to
// move together.
//
// An interval is that of its function alone: of 100 intervals 95 have the true ratio.
//
// Heap profiles are compared without a test.
package compare
