// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import "time"

// Totals are what the log holds and has seen.
type Totals struct {
	Bytes                                int64
	Ended, NotKept, Evicted, WithSamples int64
	LostAttributes, UnseenAttributes     int64
	Held, Running, Inner                 int
	// Restored is the number of spans of earlier processes that are held, beside Held.
	Restored int
	// Forgotten, EvictedEarly and SamplesLost count spans, as store.Stats says.
	Forgotten, EvictedEarly, SamplesLost int64
	CPULost                              time.Duration
}

// Totals returns the totals of now.
func (l *Log) Totals() Totals {
	l.lock()
	defer l.mu.Unlock()
	return l.totals()
}

func (l *Log) totals() Totals {
	return Totals{
		Bytes:       l.bytes + l.orphans.bytes + l.queue.bytes.Load(),
		Ended:       l.ended,
		NotKept:     l.passed,
		Evicted:     l.evicted,
		WithSamples: l.withSamples,

		LostAttributes:   l.lostAttributes,
		UnseenAttributes: l.queue.unseen.Load(),

		Held:    int(l.ended - l.passed - l.evicted),
		Running: l.lists[runningList].len,

		Restored: l.restored,
		Inner:    l.inner,

		Forgotten:    l.forgotten,
		EvictedEarly: l.evictedEarly,
		SamplesLost:  l.orphans.lost,
		CPULost:      l.orphans.lostCPU,
	}
}
