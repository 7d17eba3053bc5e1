// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import "time"

// cpuState says whose the CPU profiler is.
type cpuState int

const (
	cpuStopped cpuState = iota // nobody's, as far as we are concerned
	cpuOpening                 // not known before runtime/pprof lets us ask
	cpuOwn                     // ours
	cpuForeign                 // someone else's
	cpuBackoff                 // left to who has stopped ours again and again
)

// foreign reports whether another CPU profile is known to run, and how often that was
// found. That a call of runtime/pprof takes long is no sign of one.
func (c *cpu) foreign() (now bool, times uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == cpuForeign, c.foreigners
}

// status returns when the open run began, zero if none is open, how often one
// was stopped by something else, and what is going on in words.
func (c *cpu) status() (start time.Time, stops uint64, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == cpuStopped:
		return time.Time{}, c.stops, "stopped"
	case c.state == cpuOpening && c.open != nil && c.open.byUs.Load():
		return time.Time{}, c.stops, "waiting until the last CPU profile has been written, which takes long where all cores are busy"
	case c.state == cpuOpening:
		return time.Time{}, c.stops, "waiting until another CPU profile of this process has been written"
	case c.state == cpuForeign:
		return time.Time{}, c.stops, "another CPU profile is running in this process; waiting for it to end"
	case c.state == cpuBackoff:
		return time.Time{}, c.stops, "something else in this process stops the CPU profile again and again; trying again later"
	case !c.open.running() && c.open.byUs.Load():
		// The window is being closed, and the next one opens at once.
		return c.open.start, c.stops, "profiling"
	case !c.open.running():
		return time.Time{}, c.stops, "something else in this process has stopped the CPU profile; trying again soon"
	case c.deaf:
		return c.open.start, c.stops, "profiling; there are no samples, because something else in this process handles SIGPROF"
	case c.slow != nil:
		return c.open.start, c.stops, "profiling; samples are missing, because the system ticks less often than they are to be taken"
	default:
		return c.open.start, c.stops, "profiling"
	}
}
