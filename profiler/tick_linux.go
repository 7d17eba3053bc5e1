// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"syscall"
	"time"
	"unsafe"
)

// clockMonotonicCoarse is CLOCK_MONOTONIC_COARSE, which package syscall does not
// have. It is read at ticks, so that their distance is its resolution.
const clockMonotonicCoarse = 6

// tick returns the time between two ticks of the system, on which timers of CPU
// time fire, and 0 where that is not known.
func tick() time.Duration {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETRES, clockMonotonicCoarse, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}
