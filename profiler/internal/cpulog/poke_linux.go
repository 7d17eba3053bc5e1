// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"sync/atomic"
	"syscall"
)

// canPoke says that poke makes a record.
const canPoke = true

// The runtime's reader is woken when half of its buffer has been written, 1<<16
// words. A record has three more than its stack, which the runtime cuts at 64.
const (
	deepest   = 64
	halfWords = 1 << 16
	enough    = halfWords/(deepest+3) + 2
)

// poke has the runtime take a sample of the calling goroutine, which is in its log when
// poke returns: a signal that a thread sends to itself comes before the call of the
// system returns. The runtime counts a SIGPROF that somebody sends like those of its
// timers, on which it takes its samples, and ignores it when it takes none.
//
//go:noinline
func poke() bool {
	runtime.LockOSThread() // between the two calls
	_, _, failed := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGPROF))
	runtime.UnlockOSThread()
	return failed == 0
}

// fill makes samples until the reader is awake or must soon be.
func fill(asleep *atomic.Bool) { deep(deepest, asleep) }

// deep has the samples be as long as possible, so that there are few: about a thousand.
//
//go:noinline
func deep(depth int, asleep *atomic.Bool) bool {
	if depth > 0 {
		return !deep(depth-1, asleep) // no tail call
	}
	for n := 0; n < enough && asleep.Load(); n++ {
		poke()
	}
	return true
}
