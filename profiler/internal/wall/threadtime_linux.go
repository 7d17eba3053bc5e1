// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// measure calls f and returns its CPU time, without the work of other threads.
func measure(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, ok := threadTime()
	if !ok {
		begin := time.Now()
		f()
		return time.Since(begin)
	}
	f()
	after, _ := threadTime()
	return after - before
}

// threadTime reads the clock of the thread. Getrusage lags behind by up to a tick of the kernel,
// which is longer than a round.
func threadTime() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err == nil
}
