// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// measure calls f and returns its CPU time, without the work of other threads. Getrusage lags
// behind by up to a tick of the kernel, which is longer than a round.
func measure(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}

func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every Linux has this clock
	return time.Duration(t.Nano())
}
