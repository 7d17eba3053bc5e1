// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
)

// Option configures a Receiver.
type Option interface{ apply(c *config) }

type optionFunc func(c *config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	resource  *resource.Resource
	timelines Timelines
}

func newConfig(opts []Option) config {
	c := config{resource: resource.Default()}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	return c
}

// WithResource sets the service that the profiles are of. The default is
// resource.Default(); the agent's own resource describes a process, not a service.
func WithResource(res *resource.Resource) Option {
	return optionFunc(func(c *config) { c.resource = cmp.Or(res, c.resource) })
}

// Timelines returns what ran on the process's threads, by the process's own thread ids.
// Recorder.Threads of module exectrace reads it from an execution trace.
type Timelines interface {
	// SpanAt returns the id of the span with the labels that the thread had at a time.
	// It is "" if the thread had no span's labels. known is false if this is uncertain.
	SpanAt(thread int64, at time.Time) (id string, known bool)
}

// WithTimelines places samples by what ran on their threads, where the agent's labels are
// uncertain.
func WithTimelines(t Timelines) Option {
	return optionFunc(func(c *config) { c.timelines = t })
}
