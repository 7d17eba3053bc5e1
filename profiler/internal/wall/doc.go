// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package wall samples where goroutines spend their time, on and off CPU: it
// looks at the stacks of all labelled goroutines, or simply all, again and again, as
// often as its budget of CPU time allows, and counts for each half of the time since
// it looked before, and half of the time until it looks again.
//
// A look is at all goroutines, however many there are: the runtime hands out the stacks of
// all or none, so that a part would cost as much. Where the budget does not allow a look
// even once in ten minutes there is none, which is reported once.
//
// It knows nothing of windows, exporters or spans but the keys of their labels.
package wall

// For developers: sampler.go has the goroutine that takes rounds, and the windows;
// round.go is a round; pacer.go decides when, from what rounds cost; source.go is the
// two ways to take one;
// table.go sums what rounds found and profile.go makes a profile of it; watch.go
// notices that the process was stopped, which starved_*.go tells from waiting for a CPU,
// and frozen.go counts the time of that for the spans that had it;
// recent.go remembers what the last minute has cost; threadtime_*.go is the clock
// that costs are measured with.
