// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
)

// maxRotation is the longest time between two windows that is no gap, in
// nanoseconds. The runtime takes it to write a profile: 20 ms, and up to 200 ms
// on macOS.
const maxRotation int64 = 250e6

// maxPeriods bounds what is remembered of one service.
const maxPeriods = 256

// period is a time, [start, end) in nanoseconds since 1970.
type period struct {
	start, end int64
}

// periods are in the order of time, with gaps of more than maxRotation.
type periods []period

// add returns p and [start, end), as one period with what is near to it.
func (p periods) add(start, end int64) periods {
	if end <= start {
		return p
	}
	first := p.search(start - maxRotation)
	next := first
	for ; next < len(p) && p[next].start <= end+maxRotation; next++ {
		start, end = min(start, p[next].start), max(end, p[next].end)
	}
	return slices.Replace(p, first, next, period{start, end})
}

// overlap returns how much of [start, end) p covers.
func (p periods) overlap(start, end int64) (covered int64) {
	for _, q := range p[p.search(start):] {
		if q.start >= end {
			break
		}
		covered += min(end, q.end) - max(start, q.start)
	}
	return covered
}

// search returns the index of the first period that ends at t or later.
func (p periods) search(t int64) int {
	i, _ := slices.BinarySearchFunc(p, t, func(q period, t int64) int { return cmp.Compare(q.end, t) })
	return i
}

// firstGap returns the time between the first two periods.
func (p periods) firstGap() (start, end int64) { return p[0].end, p[1].start }
