// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import "sync/atomic"

// tally tells the records that our own signals make from the samples that the runtime's
// timers take while the signals are sent: both have the stack of poke. It knows how many
// signals were sent; what there is more of is samples.
type tally struct {
	sent atomic.Int64 // signals, counted before each is sent
	seen int64        // how many of them are accounted for; Log.mu guards it
}

// sample counts a record of poke. It reports whether that is a sample.
func (t *tally) sample() bool {
	if t.seen < t.sent.Load() {
		t.seen++
		return false
	}
	return true
}

// discarded returns how many of n records that the runtime had no room for may have been of
// our signals, and counts those. If one of them comes nevertheless it makes up for that as
// a sample: so the sum is never more than the samples that were taken.
func (t *tally) discarded(n int64) int64 {
	d := min(n, t.sent.Load()-t.seen)
	t.seen += d
	return d
}

// settle says that of the first n signals none will make a record any more.
func (t *tally) settle(n int64) { t.seen = max(t.seen, n) }
