// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"slices"
	"unsafe"
)

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
	return slotSize(stringSize+pointerSize) + allocSize(int64(len(service))) + allocSize(int64(unsafe.Sizeof(*c))) +
		allocSize(int64(cap(c.profiled))*size) + allocSize(int64(cap(c.evicted))*size)
}
