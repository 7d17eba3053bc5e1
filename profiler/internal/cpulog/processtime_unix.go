// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cpulog

import (
	"syscall"
	"time"
)

// ProcessTime returns the CPU time of the process, and false if it is not known.
func ProcessTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
