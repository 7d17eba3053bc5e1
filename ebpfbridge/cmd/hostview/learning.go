// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// learningTime is how long a new agent may need to read the files of all processes. On
	// two busy cores it needs 6 to 10 s.
	learningTime = time.Minute
	// busyTicks is the CPU time of a busy process, in 1/100 s: enough for two samples at 20 Hz.
	busyTicks = 10
)

// learning counts the processes that use CPU time and that a new agent does not sample yet.
type learning struct {
	mu    sync.Mutex
	since time.Time     // of the agent
	ticks map[int]int64 // by process, at its start
}

// count returns the number for an agent since a time. seen reports whether a process has
// samples.
func (l *learning) count(since time.Time, seen func(pid int) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since.IsZero() || time.Since(since) > learningTime {
		return 0
	}
	now := cpuTicks()
	if !since.Equal(l.since) {
		l.since, l.ticks = since, now
	}
	for pid, ticks := range now {
		if ticks-l.ticks[pid] >= busyTicks && !seen(pid) {
			n++
		}
	}
	return n
}

// cpuTicks returns the CPU time of all processes but kernel threads.
func cpuTicks() map[int]int64 {
	entries, _ := os.ReadDir("/proc")
	ticks := map[int]int64{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if of, kernelThread := processStat(pid); !kernelThread {
				ticks[pid] = of
			}
		}
	}
	return ticks
}

// processStat reads the CPU time of a process, which all users may read. Both are zero for an
// absent one.
func processStat(pid int) (ticks int64, kernelThread bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from field 3
	if err != nil || len(fields) < 13 {
		return 0, false
	}
	const flagKernelThread = 0x00200000 // PF_KTHREAD
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(string(fields[field-3]), 10, 64)
		return n
	}
	return number(14) + number(15), number(9)&flagKernelThread != 0
}
