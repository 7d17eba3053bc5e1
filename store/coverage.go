// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// Coverage says whether CPU profiles cover the time of a span. Time for which
// windows are yet to come does not count.
type Coverage int

const (
	// CoverageWhole says that CPU was profiled all the time and that what the
	// profiles have of the span is held: samples that are not there were never
	// taken.
	CoverageWhole Coverage = iota
	// CoveragePartial says that CPU was not profiled in part of the time, as
	// while another CPU profile ran in the process.
	CoveragePartial
	// CoverageNone says that CPU was not profiled at all in that time.
	CoverageNone
	// CoverageEvicted says that profiles of that time, or of a part of it,
	// made room for newer ones, and samples of the span with them; or that the
	// store got to know of the span too late to tell.
	CoverageEvicted
)

// String returns "whole", "partial", "none" or "evicted".
func (c Coverage) String() string {
	switch c {
	case CoveragePartial:
		return "partial"
	case CoverageNone:
		return "none"
	case CoverageEvicted:
		return "evicted"
	default:
		return "whole"
	}
}

// cpuTimes knows when CPU was profiled in a service.
type cpuTimes struct {
	// until is the end of the latest window, in nanoseconds since 1970.
	until int64
	// profiled are the times of all windows that came, evicted those of
	// windows that went.
	profiled, evicted periods
	// forgotten is the end of the latest gap that is no longer known.
	forgotten int64
}

func newCPUTimes() *cpuTimes { return &cpuTimes{until: math.MinInt64, forgotten: math.MinInt64} }

func (c *cpuTimes) clone() *cpuTimes {
	own := *c
	own.profiled, own.evicted = slices.Clone(c.profiled), slices.Clone(c.evicted)
	return &own
}

func (c *cpuTimes) add(w *window) {
	start, end := w.start.UnixNano(), w.end.UnixNano()
	c.until = max(c.until, end)
	c.profiled = c.profiled.add(start, end)
	if len(c.profiled) > maxPeriods {
		// The knowledge of the oldest gap makes room for newer ones, as
		// profiles do.
		start, end := c.profiled.firstGap()
		c.profiled = c.profiled.add(start, end)
		c.evict(start, end)
		c.forgotten = end
	}
}

func (c *cpuTimes) evict(start, end int64) {
	c.evicted = c.evicted.add(start, end)
	if len(c.evicted) > maxPeriods {
		c.evicted = c.evicted.add(c.evicted.firstGap())
	}
}

// coverage is about the part of [start, end) whose windows have come, for a span
// that may have missed samples of windows that went, or has not.
func (c *cpuTimes) coverage(start, end int64, missed bool) Coverage {
	// A span that took no time was somewhere all the same.
	end = min(max(end, start+1), c.until)
	if end <= start {
		return CoverageWhole
	}
	if (missed || start < c.forgotten) && c.evicted.overlap(start, end) > 0 {
		return CoverageEvicted
	}
	switch c.profiled.overlap(start, end) {
	case end - start:
		return CoverageWhole
	case 0:
		return CoverageNone
	default:
		return CoveragePartial
	}
}

// cost is the memory of c as the index holds it.
func (c *cpuTimes) cost(service string) int64 {
	const size = int64(unsafe.Sizeof(period{}))
	return memory.Slot(memory.String+memory.Pointer) + memory.Alloc(int64(len(service))) + memory.Alloc(int64(unsafe.Sizeof(*c))) +
		memory.Alloc(int64(cap(c.profiled))*size) + memory.Alloc(int64(cap(c.evicted))*size)
}

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
