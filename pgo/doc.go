// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgo makes the profile by which the Go compiler optimises a program
// (profile-guided optimisation) out of CPU profiles of that program at work, and tells
// whether such a profile still fits.
//
//	result, err := pgo.Merge(sources)
//	err = result.WriteFile("cmd/shop/default.pgo")
//
// go build finds default.pgo beside package main by itself, inlines the hot calls in it and
// calls hot methods of interfaces directly. "go version -m" shows which profile a
// program was built with. The command "spanprof pgo" does all this from a shell.
//
// # What is merged
//
// CPU time alone, in nanoseconds, so that profiles of 97 and of 100 Hz mix. Labels,
// addresses and mappings are dropped, which makes the file small and free of ids;
// functions, lines and the lines where functions begin are kept. [WithLeaf] makes the file
// smaller still. A busy replica counts for more than a calm one, unless
// [WithBalance] is given. With [WithSpan] the program is built for the requests that
// matter.
//
// # How much is enough
//
// The compiler adds up the weight of each call site, and takes for hot the heaviest
// that make up 99 % of all weight. What was never sampled is cold. [Result] warns
// when
//
//   - there are fewer than 1,000 samples, 10 s of CPU time at 100 Hz: a function with
//     1 % of the time has fewer than ten samples then;
//   - more than a quarter of the workload's calls is probably missing. That share
//     is estimated by the share of calls that were seen once (Good and Turing's
//     estimate; it is 20 % for the profile that the Go compiler is built with);
//   - the profiles are of different programs or builds.
//
// # Whether it still fits
//
// Code changes, and the compiler ignores calls that it does not find.
// [Executable.Check] lists the hot functions of a profile that a program has not any
// more. It knows functions that exist only inlined, which no symbol table lists,
// and reads stripped programs. [Cover] tells how much of another workload's CPU time
// a profile marks hot.
package pgo
