// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"fmt"
	"time"
)

// An Option configures Start.
type Option interface{ apply(c *config) }

type optionFunc func(c *config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	threshold time.Duration // 0 for the slowest of each name
	share     float64
	window    time.Duration
	optIn     bool
}

const (
	defaultShare = 0.01
	// defaultWindow is longer than the time between two readings: each span is in one.
	defaultWindow           = readApart + 2*time.Second
	leastWindow, mostWindow = time.Second, time.Minute
	// leastBytes is enough for a second of a trace of any usual program.
	leastBytes = 8 << 20
)

func newConfig(options []Option) (config, error) {
	c := config{share: defaultShare, window: defaultWindow}
	for _, o := range options {
		if o != nil {
			o.apply(&c)
		}
	}
	switch {
	case c.threshold < 0:
		return c, fmt.Errorf("exectrace: WithThreshold(%v): use a duration above 0", c.threshold)
	case !(c.share > 0 && c.share <= 1): // also NaN
		return c, fmt.Errorf("exectrace: WithBudget(%v): use a share of a core above 0, such as 0.01, and at most 1", c.share)
	case c.window < leastWindow || c.window > mostWindow:
		return c, fmt.Errorf("exectrace: WithWindow(%v): use %v to %v", c.window, leastWindow, mostWindow)
	}
	return c, nil
}

// maxBytes bounds a recording in memory: twice the bytes that the budget allows in a window.
func (c *config) maxBytes() int64 {
	allowed := c.share * float64(time.Second/perByte) * (c.window + time.Second).Seconds()
	return max(2*int64(allowed), leastBytes)
}

// WithThreshold sets the least duration of a slow span. By default a slow span takes longer than
// 99 of 100 spans of its name. The first 100 are not slow.
func WithThreshold(d time.Duration) Option {
	return optionFunc(func(c *config) { c.threshold = d })
}

// WithBudget sets the cost of recording and reading: a share of a core, 0.01 by default. It is
// computed from the bytes of the trace and the number of goroutines. A minute of it can be
// saved up. Recording stops while the budget has no reading left, see [ErrBudget].
func WithBudget(share float64) Option {
	return optionFunc(func(c *config) { c.share = share })
}

// WithWindow sets the length of the recording, 1 s to 1 min, by default 12 s. A span that began
// before it has no exact times. Below 10 s, some slow spans end too early for a reading.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c *config) { c.window = d })
}

// WithOptIn records only if the environment has SPANPROF_ENABLED=true.
func WithOptIn() Option {
	return optionFunc(func(c *config) { c.optIn = true })
}
