// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// setAction has the system do something else at a signal.
func setAction(t *testing.T, s syscall.Signal, a handler) {
	t.Helper()
	if _, _, err := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&a)), 0, sigset, 0, 0); err != 0 {
		t.Error(err)
	}
}

// While no signal has made a record yet, another SIGURG looks as if SIGPROF were taken. The one
// more that is sent tells.
func TestFirstCutWithAnotherSIGURG(t *testing.T) {
	known(t)
	before := action(syscall.SIGURG)
	defer setAction(t, syscall.SIGURG, before)
	setAction(t, syscall.SIGURG, handler{1})
	for range 20 {
		l := New(100, goruntime.ReadCPUProfile)
		end := recordUnheard(l)
		if p, err := l.Cut(); err != nil || p.Deaf || p.Unwoken {
			t.Errorf("deaf %t, unwoken %t: %v", p.Deaf, p.Unwoken, err)
		}
		end()
	}
}
