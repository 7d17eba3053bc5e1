// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// clockThreadCPU is CLOCK_THREAD_CPUTIME_ID. Package syscall lacks it and clock_gettime. Its
// Getrusage lags behind by up to a tick of the kernel, which is longer than a round.
const clockThreadCPU = 3

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

func threadTime() (time.Duration, bool) {
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano()), errno == 0
}
