// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

// WithUnknownRuntime has New find the runtime as err says.
func WithUnknownRuntime(err error) Option {
	return optionFunc(func(c config) config {
		c.unknownRuntime = func() error { return err }
		return c
	})
}

// SetReader has samples read by read. It is for before Start.
func (p *Profiler) SetReader(read cpulog.Reader) { p.cpu.read = read }
