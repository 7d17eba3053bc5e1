// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package wall

import "time"

// measure calls f and returns the time that passed: this system has no clock for the CPU time
// of a thread.
func measure(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
