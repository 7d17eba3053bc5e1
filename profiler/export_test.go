// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import "time"

// WithFirstEnd makes the first windows end after a whole window instead of at random.
func WithFirstEnd() Option {
	return optionFunc(func(c config) config {
		c.phase = func(time.Duration) time.Duration { return 0 }
		return c
	})
}

// WithPatience sets how long a call of runtime/pprof may delay the loop.
func WithPatience(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.patience = d
		return c
	})
}

// WithPublicAPI makes runtime/pprof read the CPU samples.
func WithPublicAPI() Option {
	return optionFunc(func(c config) config {
		c.public = true
		return c
	})
}
