// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"fmt"
	"time"
)

// slowTick returns an error, to be reported, if hz asks for more samples than the
// system has ticks: it takes one at a tick, and each stands for less time than
// has passed.
func slowTick(hz int, tick time.Duration) error {
	if time.Second/time.Duration(hz) >= tick {
		return nil
	}
	ticks := int(time.Second / tick)
	return fmt.Errorf("cpu profile: the system ticks %d times a second and takes no more samples, so that %d Hz shows up to %d %% of the CPU time: use WithCPURate with less than %d",
		ticks, hz, 100*ticks/hz, ticks)
}
