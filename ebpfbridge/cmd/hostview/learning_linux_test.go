// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
	"time"
)

// A new agent learns this process, which is busy.
func TestLearning(t *testing.T) {
	own, since := os.Getpid(), time.Now()
	var l learning
	unknown := func(pid int) bool { return pid != own }
	if n := l.count(since, unknown); n != 0 {
		t.Errorf("got %d at the start, want 0", n)
	}
	count := func(ticks int64, seen func(int) bool) int {
		l.ticks[own] = cpuTicks()[own] - ticks
		return l.count(since, seen)
	}
	if n := count(busyTicks, unknown); n != 1 {
		t.Errorf("got %d, want this process", n)
	}
	if n := count(busyTicks, func(int) bool { return true }); n != 0 {
		t.Errorf("got %d, want 0 of processes with samples", n)
	}
	if n := count(-1000, unknown); n != 0 {
		t.Errorf("got %d, want 0 of idle processes", n)
	}
	if n := l.count(since.Add(-2*learningTime), unknown) + l.count(time.Time{}, unknown); n != 0 {
		t.Errorf("got %d of an old agent and of none, want 0", n)
	}
	if ticks, kernelThread := processStat(1 << 30); ticks != 0 || kernelThread {
		t.Error("an absent process has a state")
	}
}
