// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "syscall"

// takenAway returns how often the operating system took the caller's thread away while it ran.
func takenAway() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Nivcsw
}
