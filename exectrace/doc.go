// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exectrace tells exactly where the time of a span went, and who ended each of its
// waits, by Go's execution traces.
//
// Sampling says roughly where a span waited. An execution trace has every wait, with the
// goroutine that ended it: "waited 30 ms for a mutex that span `refresh cache` held, which
// meanwhile slept 20 ms in its child `load from disk`".
//
// [Analyze] reads a trace from anywhere: a file of /debug/pprof/trace, or what a
// [runtime/trace.FlightRecorder] wrote.
//
//	curl -o trace.out 'http://localhost:6060/debug/pprof/trace?seconds=5'
//	spanprof trace trace.out
//
// # Which spans
//
// OpenTelemetry's SDK makes a task of package runtime/trace of each span that is recorded
// while a trace is on. Package spanprof adds the span's id to local roots. Without spanprof
// the spans have names and no ids. Spans that are not recorded are not in a trace: as the
// ones that ended a wait they have a stack and no name.
//
// # What the numbers mean
//
// The states of a span on the goroutine that it began on add up to its duration, and what
// is missing is listed as a [Hole]. Each further goroutine that worked for the span has
// sums of its own.
//
// "Running" is the time on a thread. It includes what the operating system took away: by
// other processes, or by a limit of the container. "Runnable" is the time in which the
// goroutine was ready and no thread had room for it.
//
// A trace says who ended a wait. It does not say since when a lock was held, which case of
// a select was taken, or what a remote peer did. What a [Blocker] did is what its goroutine
// did during the wait.
package exectrace
