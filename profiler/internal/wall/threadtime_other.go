// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package wall

import "time"

// measure calls f and returns the time that it took: on a system without a
// clock for the CPU time of a thread that is as near, from above, as it gets.
func measure(f func()) time.Duration { return measureWall(f) }
