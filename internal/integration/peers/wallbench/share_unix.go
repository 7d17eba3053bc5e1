// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"syscall"
	"time"
)

// share returns the share of a core that the process takes for some time.
func share(d time.Duration) float64 {
	begin, before := time.Now(), processTime()
	<-time.After(d)
	return (processTime() - before).Seconds() / time.Since(begin).Seconds()
}

func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
