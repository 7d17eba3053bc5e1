// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

// log returns what reads the samples of the next run, nil where runtime/pprof does.
func (c *cpu) log() *cpulog.Log {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback != nil {
		return nil
	}
	return cpulog.New(c.hz, c.read)
}

// apart returns the least time between two cuts: where none loses samples, that of
// one sample.
func (c *cpu) apart() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback == nil && cpulog.Uncut {
		return time.Second / time.Duration(c.hz)
	}
	return apart
}

// rate returns how many samples are taken a second and, where runtime/pprof reads
// them, why.
func (c *cpu) rate() (hz int, fallback error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hz, c.fallback
}

// warning says what is not as was wanted, to be reported when the CPU is profiled.
func (c *cpu) warning() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.public {
		return c.slow
	}
	return errors.Join(c.slow, c.fallback)
}

// avoid is fallBack where nothing that was wanted is missing but the times of samples,
// which is not worth a report.
func (c *cpu) avoid(why error) {
	if c.hz != defaultCPURate {
		_ = c.fallBack(why) // reported when the CPU is profiled
		return
	}
	_ = c.fallBack(why)
	c.public = true
}

// fallBack has runs that begin from now on be runtime/pprof's own, at its rate. The
// error is to be reported; it is nil from the second call on.
func (c *cpu) fallBack(why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback != nil {
		return nil
	}
	rate := ""
	if c.hz != defaultCPURate {
		rate = fmt.Sprintf("%d samples are taken a second, not %d: ", defaultCPURate, c.hz)
	}
	c.fallback = fmt.Errorf("cpu profile: %sruntime/pprof reads the samples, without their times, so that those after a span's end count for it: this package cannot read them from %s: %w",
		rate, runtime.Version(), why)
	c.hz, c.slow = defaultCPURate, slowTick(defaultCPURate, tick())
	c.deaf = false // not known of runtime/pprof's samples
	return c.fallback
}
