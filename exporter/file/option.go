// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"time"
)

const (
	// defaultMaxBytes is about half a day of CPU and heap windows of 10 s,
	// at 100 kB each.
	defaultMaxBytes = 1 << 30
	defaultMaxAge   = 24 * time.Hour
)

// Option configures New. A nil Option does nothing.
type Option interface {
	apply(c config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	maxBytes int64
	maxAge   time.Duration
}

// WithMaxBytes bounds the files in the directory: the oldest make room for a new
// one. The default is 1 GiB. New refuses less than 1.
func WithMaxBytes(n int64) Option {
	return optionFunc(func(c config) config {
		c.maxBytes = n
		return c
	})
}

// WithMaxAge has files removed, when the next one is written, whose window began
// longer than d ago. The default is 24 h. New refuses less than 1 ns.
func WithMaxAge(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.maxAge = d
		return c
	})
}

func newConfig(opts []Option) (config, error) {
	c := config{maxBytes: defaultMaxBytes, maxAge: defaultMaxAge}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	switch {
	case c.maxBytes < 1:
		return c, fmt.Errorf("max bytes of %d leaves no room for a profile: leave WithMaxBytes out for %d", c.maxBytes, int64(defaultMaxBytes))
	case c.maxAge < 1:
		return c, fmt.Errorf("max age of %v removes every profile: leave WithMaxAge out for %v", c.maxAge, defaultMaxAge)
	}
	return c, nil
}
