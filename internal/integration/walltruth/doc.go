// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package walltruth has a program time its own spans while something is done to it. Their
// wall profiles must agree with that within what they state: the standard error, and the
// time in which nobody looked. With SPANPROF_WALLTRUTH=all the test has the
// cases with 100,000 goroutines too.
package walltruth
