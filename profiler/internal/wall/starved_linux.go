// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// A thread that could run and waits for a CPU, as others have it or a quota is used up,
// grows its run delay, the second figure of /proc/self/task/*/schedstat. That of a thread
// that is stopped does not grow, nor that of one that sleeps. Beside busy neighbours and
// under a quota, the longest wait was mostly 90 to 100 % of the time that the sampler was
// late by; now and then two or three threads waited one after the other. After SIGSTOP it
// was what the way back to a CPU took, up to 60 of 255 ms on the same machine.

// maxThreads bounds how many threads are read. With more, a freeze is told by the CPU time
// of the process alone.
const maxThreads = 256

// readDelays returns those of all threads, and false where the system does not tell, or
// there are too many.
func readDelays() (delays, bool) {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return nil, false
	}
	defer func() { _ = dir.Close() }()
	threads, err := dir.Readdirnames(maxThreads + 1)
	if err != nil || len(threads) > maxThreads {
		return nil, false
	}
	all := make(delays, len(threads))
	for _, id := range threads {
		if d, ok := readDelay(id); ok {
			all[id] = d
		}
	}
	return all, len(all) > 0
}

// readDelay returns that of a thread, and false if it has ended.
func readDelay(id string) (time.Duration, bool) {
	fd, err := syscall.Open("/proc/self/task/"+id+"/schedstat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer func() { _ = syscall.Close(fd) }()
	var b [96]byte
	n, err := syscall.Read(fd, b[:])
	if err != nil || n <= 0 {
		return 0, false
	}
	fields := bytes.Fields(b[:n])
	if len(fields) < 2 {
		return 0, false
	}
	d, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return time.Duration(d), err == nil
}
