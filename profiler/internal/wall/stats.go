// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import "time"

// Stats is what a Sampler has done since New.
type Stats struct {
	// Source is how rounds are taken: "runtime" or "public".
	Source string
	// Rounds is how many were taken, Skipped how many were not because the
	// budget did not allow them.
	Rounds, Skipped uint64
	// Samples is how many goroutines were counted, Dropped how many were
	// not because the table was full.
	Samples, Dropped uint64
	// Unwatched is the time in which nobody looked: that of the freezes of the
	// process, of which there were so many, and that of profiles without a round.
	Unwatched time.Duration
	Freezes   uint64
	// CPU is what all this has cost: what was measured, and waking for each
	// round.
	CPU time.Duration
	// Rate is how many rounds a second there were in the last minute, or
	// since Start if that is less ago, and Share what they and the making of
	// profiles took, of a core.
	Rate, Share float64
	// Interval is the mean time between rounds with the goroutines that
	// there are now; 0 if they are too many for any.
	Interval time.Duration
}
