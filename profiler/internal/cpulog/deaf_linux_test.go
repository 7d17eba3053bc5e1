// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// setAction has the system do something else at a signal.
func setAction(t *testing.T, s syscall.Signal, a handler) {
	t.Helper()
	if _, _, err := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&a)), 0, sigset, 0, 0); err != 0 {
		t.Fatal(err)
	}
}

// Where a C library has taken SIGPROF, which makes the samples, a cut does not wait for
// one: the runtime is stopped for it. When the library gives that back there are samples
// again.
func TestCutWithoutSignals(t *testing.T) {
	known(t)
	l := New(100, goruntime.ReadCPUProfile)
	defer record(l)()
	cut(t, l, nil)
	before := action(syscall.SIGPROF)
	if before == (handler{}) {
		t.Fatal("the system does not say what it does at SIGPROF")
	}
	ignored := handler{1} // SIG_IGN; on MIPS, where flags are first, no action is read
	defer setAction(t, syscall.SIGPROF, before)
	for name, asleep := range map[string]bool{"awake": false, "asleep": true} {
		for asleep && !l.asleep.Load() {
			<-time.After(time.Millisecond)
		}
		setAction(t, syscall.SIGPROF, ignored)
		for range 2 {
			p, err := l.Cut()
			if err != nil || !p.Restarted || !p.Deaf {
				t.Errorf("%s: restarted %t, deaf %t: %v", name, p.Restarted, p.Deaf, err)
			}
		}
		setAction(t, syscall.SIGPROF, before)
		if p, err := l.Cut(); err != nil || p.Deaf {
			t.Errorf("%s: given back: restarted %t, deaf %t: %v", name, p.Restarted, p.Deaf, err)
		}
		p := cut(t, l, nil)
		for d := 50 * time.Millisecond; samplesOf(p.Profile, ".busy") == 0; d *= 2 {
			if d > 8*time.Second {
				t.Fatalf("%s: given back: no samples", name)
			}
			busy(d)
			p = cut(t, l, &p)
		}
	}
}

// A program that ignores SIGURG, or a C library that handles it, takes no samples away.
func TestCutWithAnotherSIGURG(t *testing.T) {
	known(t)
	l := New(100, goruntime.ReadCPUProfile)
	defer record(l)()
	cut(t, l, nil)
	before := action(syscall.SIGURG)
	defer setAction(t, syscall.SIGURG, before)
	for range 5 {
		for !l.asleep.Load() {
			<-time.After(time.Millisecond)
		}
		setAction(t, syscall.SIGURG, handler{1})
		cut(t, l, nil)
		setAction(t, syscall.SIGURG, before)
	}
}
