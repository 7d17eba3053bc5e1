// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// WithFirstEnd makes the first windows end after a whole window instead of at random.
func WithFirstEnd() Option {
	return optionFunc(func(c *config) { c.phase = func(time.Duration) time.Duration { return 0 } })
}

// WithPatience sets how long a call of runtime/pprof may delay the loop.
func WithPatience(d time.Duration) Option {
	return optionFunc(func(c *config) { c.patience = d })
}

// WithPublicAPI makes runtime/pprof read the CPU samples.
func WithPublicAPI() Option {
	return optionFunc(func(c *config) { c.public = goruntime.ErrPublic })
}
