// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package cpulog

import (
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/livetest"
)

// Where a C library has taken SIGPROF, which makes the samples, a cut does not wait for
// one: the runtime is stopped for it. When the library gives that back there are samples
// again. What has taken SIGPROF does not get the thousand signals that would wake the reader.
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
			sent := l.signals.sent.Load()
			p, err := l.Cut()
			if err != nil || !p.Restarted || !p.Deaf || p.Unwoken {
				t.Errorf("%s: restarted %t, deaf %t, unwoken %t: %v", name, p.Restarted, p.Deaf, p.Unwoken, err)
			}
			// The reader's looks, and one more for the cut.
			if sent = l.signals.sent.Load() - sent; sent > 2*looks {
				t.Errorf("%s: %d signals were sent to what has taken SIGPROF", name, sent)
			}
		}
		setAction(t, syscall.SIGPROF, before)
		if p, err := l.Cut(); err != nil || p.Deaf {
			t.Errorf("%s: given back: restarted %t, deaf %t: %v", name, p.Restarted, p.Deaf, err)
		}
		p := cut(t, l, nil)
		livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
			busy(d)
			p = cut(t, l, &p)
			return livetest.Few(samplesOf(p.Profile, ".busy"), 1, "samples after "+name+" was given back")
		})
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

// The handler of a signal may change between a record and the read of it.
func TestCutAfterALateRead(t *testing.T) {
	known(t)
	before := action(syscall.SIGPROF)
	taken := make(chan struct{})
	first := true
	l := New(100, func() ([]uint64, []*goruntime.LabelSet, bool) {
		records, labels, eof := goruntime.ReadCPUProfile()
		if first && len(records) > 0 {
			first = false
			setAction(t, syscall.SIGPROF, handler{1})
			close(taken)
		}
		return records, labels, eof
	})
	end := record(l)
	<-taken
	if p, err := l.Cut(); err != nil || !p.Deaf || p.Unwoken {
		t.Errorf("deaf %t, unwoken %t: %v", p.Deaf, p.Unwoken, err)
	}
	setAction(t, syscall.SIGPROF, before)
	end()
}

// setAction has the system do something else at a signal.
func setAction(t *testing.T, s syscall.Signal, a handler) {
	t.Helper()
	if _, _, err := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&a)), 0, sigset, 0, 0); err != 0 {
		t.Error(err)
	}
}

// While no signal has made a record yet, another SIGURG looks as if SIGPROF were taken. One more signal shows that it is not.
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
