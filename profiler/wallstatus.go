// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import "time"

// WallStatus is what the samples of [exporter.KindWall] are and cost. A round is
// one look at the stacks of all goroutines; the counters count since New.
type WallStatus struct {
	// Budget is the share of one core that rounds may take.
	Budget float64
	// Share is the share of one core that they took in the last minute, or
	// since the kind is measured if that is less. It is above Budget for a
	// while at most: see WithWallBudget.
	Share float64
	// Rate is the number of rounds per second in the same time. A span of
	// length d can be expected to have d * Rate samples for each of its
	// goroutines.
	Rate float64
	// Interval is the mean time between rounds that is planned, which the
	// budget allows with the goroutines there are now; 0 before the first
	// round, and when there are so many that ten minutes of it allow none.
	Interval time.Duration
	// CPU is the CPU time that rounds and the making of profiles have
	// taken, measured on their thread, and 150 us for each round, for the
	// waking of threads, which cannot be measured. On systems other than
	// Linux it is the time that passed meanwhile, which is more.
	CPU time.Duration
	// Source is how rounds are taken: "runtime" with Go 1.26 and 1.27,
	// or "public" with others, by runtime/pprof's goroutine
	// profile, which takes some ten times as much CPU.
	Source string
	// Rounds is the number of rounds that were taken.
	Rounds uint64
	// RoundsSkipped is the number of rounds that were not taken because
	// the budget did not allow them, or that were given up as the process lost the
	// CPU in their midst. The next has the weight of both.
	RoundsSkipped uint64
	// Unwatched is the time in which nobody looked, which is in the profiles of
	// those goroutines alone that were found in a span before. It is the time in which the process did not run because it was
	// stopped or suspended for 100 ms or longer, and the windows without a round. Where it runs slowly, for a
	// quota of CPU or on a busy machine, that is time as any other; on Linux that is
	// told by how long its threads have waited for a CPU.
	Unwatched time.Duration
	// Freezes is how often the process did not run for 100 ms or longer.
	Freezes uint64
	// Samples is the number of goroutines that rounds have found with the
	// labels of a span, each time counted.
	Samples uint64
	// SamplesDropped is the number of those that are in no profile because
	// the window had 65,536 different ones already. Their time is missing.
	SamplesDropped uint64
}
