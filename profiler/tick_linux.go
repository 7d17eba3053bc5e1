// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"time"

	"golang.org/x/sys/unix"
)

// tick returns the time between two ticks of the system, on which timers of CPU
// time fire, and 0 where that is not known.
func tick() time.Duration {
	// This clock is read at ticks, so that their distance is its resolution.
	var t unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
