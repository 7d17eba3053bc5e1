// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import "iter"

type counter int

const (
	slowSpans counter = iota
	// The outcomes of slow spans.
	stored
	unrecorded
	missed
	// The outcomes of recordings.
	readings
	failures
	counters
)

var counterTexts = [counters]string{
	"slow spans", "slow spans with exact times", "slow spans while recording was off", "slow spans missing in the recording read",
	"recordings read", "recordings lost",
}

// Counters returns six counters with their texts, for Profiling.AddCounters of package
// inprocess. Each slow span is also in one of the three counters after the first, once its
// outcome is certain.
func (r *Recorder) Counters() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for c, text := range counterTexts {
			if !yield("exact times: "+text, r.counts[c].Load()) {
				return
			}
		}
	}
}

func (r *Recorder) count(c counter, n int) { r.counts[c].Add(uint64(n)) }
