// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cputime knows when CPU was profiled in a service, and what of that is
// still held.
package cputime

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// Times knows when CPU was profiled in a service.
type Times struct {
	// Until is the end of the latest window by the clock of the newest one, in
	// nanoseconds since 1970.
	Until int64
	// profiled are the times of all windows that came, evicted those of
	// windows that went.
	profiled, evicted periods
	// forgotten is the end of the latest gap that is no longer known.
	forgotten int64
}

// New returns times without a window.
func New() *Times { return &Times{Until: math.MinInt64, forgotten: math.MinInt64} }

// Clone returns a copy that may be changed.
func (c *Times) Clone() *Times {
	own := *c
	own.profiled, own.evicted = slices.Clone(c.profiled), slices.Clone(c.evicted)
	return &own
}

// Until returns the end of the latest window when one comes that ends at end, and what
// it was before. It does not go back for windows that overtook each other, but it does
// when the clock was set back: spans that end from then on have times before windows
// that came long ago.
func Until(before, end int64) int64 {
	if end < before && end < before-maxOvertaken {
		return end
	}
	return max(before, end)
}

// Add enters a window that came.
func (c *Times) Add(start, end int64) {
	c.Until = Until(c.Until, end)
	c.profiled = c.profiled.add(start, end)
	if len(c.profiled) > MaxPeriods {
		// The knowledge of the oldest gap makes room for newer ones, as
		// profiles do.
		start, end := c.profiled.firstGap()
		c.profiled = c.profiled.add(start, end)
		c.Evict(start, end)
		c.forgotten = end
	}
}

// Evict enters a window that made room for others.
func (c *Times) Evict(start, end int64) {
	c.evicted = c.evicted.add(start, end)
	if len(c.evicted) > MaxPeriods {
		c.evicted = c.evicted.add(c.evicted.firstGap())
	}
}

// Held says how much of a span's time the windows held cover.
type Held uint8

// The answers of Times.Held, as store.Coverage documents them.
const (
	Whole Held = iota
	Part
	None
	Gone
)

// Held is about the part of [start, end) whose windows have come, for a span
// that may have missed samples of windows that went, or has not.
func (c *Times) Held(start, end int64, missed bool) Held {
	// A span that took no time was somewhere all the same.
	end = min(max(end, start+1), c.Until)
	if end <= start {
		return Whole
	}
	if (missed || start < c.forgotten) && c.evicted.overlap(start, end) > 0 {
		return Gone
	}
	switch c.profiled.overlap(start, end) {
	case end - start:
		return Whole
	case 0:
		return None
	default:
		return Part
	}
}

// Cost is the memory of c in a map by service.
func (c *Times) Cost(service string) int64 {
	const size = int64(unsafe.Sizeof(period{}))
	return memory.Slot(memory.String+memory.Pointer) + memory.Alloc(int64(len(service))) + memory.Alloc(int64(unsafe.Sizeof(*c))) +
		memory.Alloc(int64(cap(c.profiled))*size) + memory.Alloc(int64(cap(c.evicted))*size)
}

// maxRotation is the longest time between two windows that is no gap, in
// nanoseconds. The runtime takes it to write a profile: 20 ms, and up to 200 ms
// on macOS.
const maxRotation int64 = 250e6

// maxOvertaken is how much earlier than another one a window may end that comes after
// it, in nanoseconds: a profiler waits for a destination for that long.
const maxOvertaken int64 = 60e9

// MaxPeriods bounds what is remembered of one service.
const MaxPeriods = 256

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
