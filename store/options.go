// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "fmt"

const (
	defaultMaxBytes = 64 << 20
	minMaxBytes     = 1 << 20
)

// Option configures a Store. A nil Option does nothing.
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	maxBytes int64
}

func newConfig(opts []Option) (config, error) {
	c := config{maxBytes: defaultMaxBytes}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if c.maxBytes < minMaxBytes {
		return config{}, fmt.Errorf("store: %d bytes are too few: WithMaxBytes needs at least %d (1 MiB)", c.maxBytes, minMaxBytes)
	}
	return c, nil
}

// WithMaxBytes bounds the memory of the store to n bytes, of which spans take
// at most a quarter and profiles three quarters. The default is 64 MiB, the
// least is 1 MiB.
func WithMaxBytes(n int64) Option {
	return optionFunc(func(c config) config {
		c.maxBytes = n
		return c
	})
}
