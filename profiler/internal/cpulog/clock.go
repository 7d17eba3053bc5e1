// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// clock turns the runtime's nanotime, by which samples are stamped, into the time of
// the day. Nanotime knows no jumps of the system's clock. The time of the day is asked
// when a part begins, and its samples are counted from there: after a jump they have
// the old time until the next part.
type clock struct {
	base time.Time
	nano int64 // at base
}

func newClock() clock {
	c := clock{}
	for best, n := int64(0), 0; n < 10; n++ {
		before := goruntime.Nanotime()
		base := time.Now()
		after := goruntime.Nanotime()
		if took := after - before; n == 0 || took < best {
			c, best = clock{base, before + took/2}, took
		}
	}
	return c
}

// at returns the time of the day at a nanotime, by what the system's clock says now.
func (c clock) at(nano int64) time.Time {
	now := time.Now()
	return now.Add(time.Duration(nano-c.nano) - now.Sub(c.base))
}

// since returns the time at a nanotime within p.
func (clock) since(p *part, nano int64) time.Time {
	return p.start.Add(time.Duration(nano - p.began))
}
