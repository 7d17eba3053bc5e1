// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import "github.com/spanprof/spanprof/internal/goruntime"

// source takes rounds: looks at all goroutines once.
type source interface {
	// name says in a word which way this is.
	name() string
	// priorCost is what a round costs for each goroutine, in nanoseconds of
	// CPU, before any has been measured. It is some three times what it is
	// on a fast machine.
	priorCost() float64
	// look finds out what all goroutines do now.
	look() error
	// visit calls found for goroutines that the last look saw with a span's labels, or
	// for all. It may sum those that have all in common to a count. What it hands
	// over must not be changed, and may be kept.
	visit(found func(stack []uintptr, labels []label, count int64))
	// split returns how many addresses at the leaf of a stack that visit
	// found, which is not empty, are one location of a profile.
	split(stack []uintptr) int
	// frames returns the functions of a location that split found, the
	// innermost of inlined ones first, without silent ones.
	frames(location []uintptr) []frame
}

// newSource returns the fastest way for this Go version to look at the
// goroutines of spans, or at all.
func newSource(all bool) source {
	if goruntime.ListsGoroutines() {
		return newRuntimeSource(all)
	}
	return newPublicSource(all)
}

type frame = goruntime.Frame

// silent reports whether a function says nothing about where a goroutine is. At
// the leaf that are those by which the runtime suspends it: what it waits for
// is said by their caller, runtime.chanrecv or time.Sleep, and one that was
// running is interrupted by the round itself. At the root of all is goexit, which
// runtime/pprof leaves out too.
func silent(function string) bool {
	switch function {
	case "runtime.gopark", "runtime.goparkunlock", "runtime.asyncPreempt", "runtime.asyncPreempt2", "runtime.goexit":
		return true
	}
	return false
}
