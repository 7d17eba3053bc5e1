// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"cmp"
	"slices"
	"time"
)

// take takes out the profile to try now. That is the oldest one, of those that
// have proved bad the least often. After failures in a row it is one that has
// been tried the least instead: if that is taken, the first one is alone in
// failing. The caller holds q.mu.
func (q *Queue) take() *queued {
	better := func(a, b queued) int { return cmp.Or(cmp.Compare(a.bad, b.bad), cmp.Compare(a.number, b.number)) }
	if q.failures >= failuresInDoubt {
		better = func(a, b queued) int {
			return cmp.Or(cmp.Compare(a.attempts, b.attempts), cmp.Compare(a.number, b.number))
		}
	}
	best := 0
	for i := range q.waiting {
		if better(q.waiting[i], q.waiting[best]) < 0 {
			best = i
		}
	}
	item := q.waiting[best]
	q.waiting = slices.Delete(q.waiting, best, best+1)
	return &item
}

// makeRoom takes the oldest profiles out until n bytes fit; the caller holds
// q.mu.
func (q *Queue) makeRoom(n int64) (dropped []queued) {
	return q.drop(&q.stats.Full, func(queued) bool { return q.bytes+n > q.config.maxBytes })
}

// expire takes the profiles out that are too old; the caller holds q.mu.
func (q *Queue) expire(now time.Time) (dropped []queued) {
	return q.drop(&q.stats.Expired, func(item queued) bool { return now.Sub(item.end) >= q.config.maxAge })
}

// drop takes the profiles out, the oldest first, that are bad, and counts them.
// bad is asked after those before have gone from q.bytes. The caller holds q.mu.
func (q *Queue) drop(count *uint64, bad func(queued) bool) (dropped []queued) {
	q.waiting = slices.DeleteFunc(q.waiting, func(item queued) bool {
		if !bad(item) {
			return false
		}
		dropped = append(dropped, item)
		q.bytes -= item.size
		*count++
		return true
	})
	return dropped
}

// adopt takes over what an earlier process has left. Nothing runs yet.
func (q *Queue) adopt(left []queued) {
	for _, item := range left {
		q.last++
		item.number = q.last
		q.waiting = append(q.waiting, item)
		q.bytes += item.size
	}
}
