// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package wall samples where goroutines spend their time, on and off CPU: it
// looks at the stacks of all labelled goroutines, or simply all, again and again, as
// often as its budget of CPU time allows, and counts for each the time since it
// looked before.
//
// It knows nothing of windows, exporters or spans but the keys of their labels.
package wall

// For developers: sampler.go has the goroutine that takes rounds; pacer.go
// decides when, from what rounds cost; source.go is the two ways to take one;
// table.go sums what rounds found and profile.go makes a profile of it;
// recent.go remembers what the last minute has cost; threadtime_*.go is the clock
// that costs are measured with.
