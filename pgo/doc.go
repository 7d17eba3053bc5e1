// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgo merges CPU profiles of a Go program into the profile for profile-guided
// optimisation.
//
//	result, err := pgo.Merge(slices.Values(sources))
//	err = result.WriteFile("cmd/shop/default.pgo")
//
// [Parse] reads the profile of a [Source].
//
// go build finds default.pgo beside package main, inlines the hot calls in it and calls hot
// methods of interfaces directly. "go version -m" shows which profile a program was built
// with. The command "spanprof pgo" does this from a shell. With -check it lists the hot
// functions of default.pgo that the program has lost.
//
// # What is merged
//
// Only CPU time in nanoseconds is merged: so profiles of 97 and of 100 Hz mix. Labels,
// addresses and mappings are removed, which makes the file small and free of ids. Functions,
// lines and start lines are kept. [WithLeaf] makes the file smaller. All replicas have the
// same weight. [WithSpan] keeps the samples of one kind of request.
//
// # How much is enough
//
// The compiler adds up the weight of each call site. The heaviest call sites with 99 % of
// the weight are hot. All others are cold. [Result] has a warning if
//
//   - there are fewer than 1,000 samples, 10 s of CPU time at 100 Hz: then a function with
//     1 % of the time has fewer than ten samples;
//   - more than a quarter of the workload's calls is probably missing. This share is
//     estimated by the calls seen once (Good and Turing's estimate). It is 20 % for
//     the profile that the Go compiler is built with;
//   - the profiles are of different programs or builds.
package pgo
