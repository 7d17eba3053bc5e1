// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import "time"

// grid is the schedule: where windows end unless Flush ends them. It does not
// drift with the time that closing takes.
type grid struct {
	// begin is an end, or the place of one, before the first window: how long
	// before it is up to chance, so that programs that are started together
	// do not export together.
	begin  time.Time
	window time.Duration
	passed uint64 // how many ends had passed at the last call of over
}

// left returns the time until the next end. A remainder of less than a tenth of
// a window, after a Flush, is not worth the samples that its end would lose: the
// window goes on to the end after it.
func (g *grid) left() time.Duration {
	left := g.window - time.Since(g.begin)%g.window
	if left < g.window/10 {
		left += g.window
	}
	return left
}

// over returns how many ends have passed since its last call.
func (g *grid) over() uint64 {
	passed := uint64(time.Since(g.begin) / g.window)
	over := passed - g.passed
	g.passed = passed
	return over
}
