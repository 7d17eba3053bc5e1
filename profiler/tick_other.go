// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package profiler

import "time"

// tick returns the time between two ticks of the system, on which timers of CPU
// time fire, and 0 where that is not known.
func tick() time.Duration { return 0 }
