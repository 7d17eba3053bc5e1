// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// canPoke reports whether poke makes a record.
const canPoke = true

// The runtime's reader is woken when half of its buffer has been written, 1<<16
// words. A record has three more than its stack, which the runtime cuts at 64.
const (
	deepest   = 64
	halfWords = 1 << 16
	enough    = halfWords/(deepest+3) + 2
)

// thread is the thread of a goroutine that is locked to it.
type thread struct{ process, id uintptr }

func thisThread() thread { return thread{uintptr(syscall.Getpid()), uintptr(syscall.Gettid())} }

// poke makes the runtime take a sample of the calling goroutine, on the thread t. It is in
// the log when poke returns: a thread handles a signal to itself before the system call
// returns. The runtime handles a SIGPROF of any sender like one of its own timers. It ignores
// the signal while it takes no samples.
//
//go:noinline
func poke(t thread) bool {
	_, _, failed := syscall.RawSyscall(syscall.SYS_TGKILL, t.process, t.id, uintptr(syscall.SIGPROF))
	return failed == 0
}

// poke makes a record. It returns false if the system refuses that.
func (l *Log) poke() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return pokeOnce(thisThread(), &l.signals.sent)
}

// pokeOnce is poke, with the signal in sent before its record is made.
func pokeOnce(t thread, sent *atomic.Int64) bool {
	sent.Add(1)
	if poke(t) {
		return true
	}
	sent.Add(-1)
	return false
}

// fill makes records until the reader is awake or must soon be. It returns false if the
// system refuses that.
func (l *Log) fill() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return deep(deepest, thisThread(), &l.asleep, &l.signals.sent)
}

// deep makes the records as long as possible, to need few: about a thousand.
//
//go:noinline
func deep(depth int, t thread, asleep *atomic.Bool, sent *atomic.Int64) (allowed bool) {
	if depth > 0 {
		allowed = deep(depth-1, t, asleep, sent)
		return allowed && depth > 0 // no tail call
	}
	for n := 0; n < enough && asleep.Load(); n++ {
		if !pokeOnce(t, sent) {
			return false
		}
	}
	return true
}

// handler is the system's record of what it does at a signal.
type handler [16]uintptr

func sigprof() handler { return action(syscall.SIGPROF) }

// deaf reports whether something else in the process, a C library for example, handles
// the signal of the samples: not installed, which has made records. If that is zero the
// runtime's handler is the one of SIGURG, which interrupts goroutines.
func deaf(installed handler) bool {
	if installed == (handler{}) {
		installed = action(syscall.SIGURG)
	}
	return sigprof() != installed
}

// sigset is the size of the system's set of signals. A system with a larger set refuses it.
const sigset = 8

// action returns what the system does at a signal, zero if the system refuses to report it.
func action(s syscall.Signal) (a handler) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&a)), sigset, 0, 0) //nolint:gosec // more than the system writes
	return a
}
