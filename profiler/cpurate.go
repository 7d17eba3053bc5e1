// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

// log returns what reads the samples of the next run, nil where runtime/pprof does.
func (c *cpu) log() *cpulog.Log {
	if hz, _ := c.rate(); hz != defaultCPURate {
		return cpulog.New(hz, c.read)
	}
	return nil
}

// rate returns how many samples are taken a second and, where that is not what was
// wanted, why.
func (c *cpu) rate() (hz int, fallback error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hz, c.fallback
}

// warning says what is not as was wanted, to be reported when the CPU is profiled.
func (c *cpu) warning() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.slow, c.fallback)
}

// fallBack has runs that begin from now on be runtime/pprof's own, at its rate. The
// error is to be reported; it is nil from the second call on.
func (c *cpu) fallBack(why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback != nil {
		return nil
	}
	c.fallback = fmt.Errorf("cpu profile: %d samples are taken a second, not %d: this package cannot read them from %s: %w",
		defaultCPURate, c.hz, runtime.Version(), why)
	c.hz, c.slow = defaultCPURate, slowTick(defaultCPURate, tick())
	return c.fallback
}
