// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"math"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// Clock is what the wall clock was at time 0 of the system's monotonic clock. Nothing but a
// step of the wall clock changes that, and a sleep of the machine: both clocks are
// slewed together.
type Clock struct {
	Epoch time.Time
	Error time.Duration // is less than this
}

// goodError is an error of a Clock that is as small as it needs to be.
const goodError = 500 * time.Nanosecond

// ReadClock reads the clocks. While goruntime.Unknown returns an error it must not be called.
//
// The snapshots in a trace do not tell how long the runtime took between the two clocks.
// Here the monotonic one is read before and after: the shortest of some tries is a fraction of
// a microsecond.
func ReadClock() Clock {
	c := Clock{Error: math.MaxInt64}
	for tries := 0; tries < 50 && c.Error > goodError; tries++ {
		before := goruntime.Nanotime()
		wall := time.Now()
		if took := time.Duration(goruntime.Nanotime() - before); took < c.Error {
			c = Clock{wall.Round(0).Add(-time.Duration(before) - took/2), took}
		}
	}
	return c
}
