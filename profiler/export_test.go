// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"time"
)

// WithFirstEnd has the first windows end after a whole window rather than at
// random.
func WithFirstEnd() Option {
	return optionFunc(func(c config) config {
		c.phase = func(time.Duration) time.Duration { return 0 }
		return c
	})
}

// SetPatience sets how long a call of runtime/pprof may keep the loop waiting. It
// is for before Start.
func (p *Profiler) SetPatience(d time.Duration) { p.cpu.patience = d }

// Opened returns when the first windows are open. On a slow machine Start does not
// wait for that.
func (p *Profiler) Opened(ctx context.Context) error { return p.do(ctx, func(*grid) {}) }
