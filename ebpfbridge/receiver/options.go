// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Option configures a Receiver.
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	resource  *resource.Resource
	timelines Timelines
	hosts     []string
	meters    metric.MeterProvider
}

func newConfig(opts []Option) config {
	c := config{resource: resource.Default(), meters: otel.GetMeterProvider()}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	return c
}

// WithResource sets the service that the profiles are of. The default is
// resource.Default(); the agent's own resource describes a process, not a service.
func WithResource(res *resource.Resource) Option {
	return optionFunc(func(c config) config {
		if res != nil {
			c.resource = res
		}
		return c
	})
}

// Timelines knows what ran on the process's threads, whose ids are those that the process
// itself knows. An execution trace can tell: Recorder.Threads of module exectrace is one.
type Timelines interface {
	// SpanAt returns the id of the span whose labels the thread had at a time, or
	// "" if it had those of none. known is false if that cannot be told.
	SpanAt(thread int64, at time.Time) (id string, known bool)
	// ThreadsOf returns the threads that had the labels of a span at a time, as far as
	// that can be told. An agent in another pid namespace has other ids for threads: the
	// receiver finds by certain samples which is which.
	ThreadsOf(id string, at time.Time) []int64
}

// WithTimelines places samples by what ran on their threads, where the agent's labels
// do not tell.
func WithTimelines(t Timelines) Option {
	return optionFunc(func(c config) config {
		c.timelines = t
		return c
	})
}

// WithMeterProvider sets where the numbers of [Status] go as metrics, which are named
// spanprof.receiver.*. The default is the global meter provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c config) config {
		if p != nil {
			c.meters = p
		}
		return c
	})
}

// WithAllowedHosts adds names to those that the Host header of an HTTP request may
// have, besides loopback ones. "*" allows all names.
func WithAllowedHosts(hosts ...string) Option {
	hosts = slices.Clone(hosts)
	return optionFunc(func(c config) config {
		c.hosts = append(slices.Clip(c.hosts), hosts...)
		return c
	})
}
