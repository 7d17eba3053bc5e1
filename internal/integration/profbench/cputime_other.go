// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import (
	"errors"
	"runtime"
	"time"
)

// cpuTime returns the user and system time of the process.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("the CPU time of a process is not known on " + runtime.GOOS + ": use -run windows, or a unix system")
}
