// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// Option configures Start. A nil Option does nothing.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	exporters []exporter.Exporter // beside the store
	profiler  []profiler.Option
	store     []store.Option
	viewer    []viewer.Option
	// checkEvery is how often the self-check looks for what is to be logged.
	checkEvery time.Duration
}

func newConfig(opts []Option) config {
	c := config{checkEvery: checkEvery}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	return c
}

// WithResource sets the resource attached to profiles. Give it the resource of the tracer
// provider. Without it profiles have the resource of the spans of the provider that Start
// was given, once the first span has started; a window that ends before has
// resource.Default(), and so have all where Start was given no provider.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c config) config {
		c.profiler = append(c.profiler, profiler.WithResource(r))
		return c
	})
}

// WithKinds sets what is measured, by default CPU and heap; see
// profiler.WithKinds. Give it exporter.KindWall as well for where spans wait.
func WithKinds(kinds ...exporter.Kind) Option {
	return optionFunc(func(c config) config {
		c.profiler = append(c.profiler, profiler.WithKinds(kinds...))
		return c
	})
}

// WithWindow sets after what time a span's samples arrive in the store, by
// default 10 s; see profiler.WithWindow.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.profiler = append(c.profiler, profiler.WithWindow(d))
		return c
	})
}

// WithProfilerOptions sets what else a profiler has options for: rates, budgets, and
// the goroutines that wall time counts. The kinds mutex and block are empty without
// profiler.WithMutexFraction and profiler.WithBlockRate. Where two options set the same,
// the later one counts.
func WithProfilerOptions(opts ...profiler.Option) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c config) config {
		c.profiler = append(c.profiler, opts...)
		return c
	})
}

// WithExporter gives every profile to another exporter too, such as one that pushes
// to Pyroscope. The store does not wait for it; Flush does, and so does the page's
// flush button for ten seconds. Shutdown shuts it down, and so does a Start that
// fails. Given again, it adds one more; nil adds none.
func WithExporter(e exporter.Exporter) Option {
	return optionFunc(func(c config) config {
		if e != nil {
			c.exporters = append(slices.Clip(c.exporters), e)
		}
		return c
	})
}

// WithMaxBytes bounds the memory of spans and profiles, by default 64 MiB; see
// store.WithMaxBytes.
func WithMaxBytes(n int64) Option {
	return optionFunc(func(c config) config {
		c.store = append(c.store, store.WithMaxBytes(n))
		return c
	})
}

// WithDirectory also keeps spans and profiles in files of a directory, at most maxBytes of
// them, and shows what earlier processes have left there: what was slow before the process
// died is on the page after the restart. By default nothing is written. Start fails where
// the directory cannot be written; Shutdown writes what is left. See store.WithDirectory.
func WithDirectory(path string, maxBytes int64) Option {
	return optionFunc(func(c config) config {
		c.store = append(c.store, store.WithDirectory(path, maxBytes))
		return c
	})
}

// WithMinDuration keeps only spans that took d or longer, by default all; shorter
// ones are left out though they ended in an error. See store.WithMinDuration.
func WithMinDuration(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.store = append(c.store, store.WithMinDuration(d))
		return c
	})
}

// WithSampling keeps the spans of that fraction of the traces, from 0 to 1, by
// default all; see store.WithSampling.
func WithSampling(fraction float64) Option {
	return optionFunc(func(c config) config {
		c.store = append(c.store, store.WithSampling(fraction))
		return c
	})
}

// WithSpansPerName sets how many of the slowest spans of each name, and of those
// with most CPU time, are kept when newer ones push the others out, by default
// 20; see store.WithSpansPerName.
func WithSpansPerName(n int) Option {
	return optionFunc(func(c config) config {
		c.store = append(c.store, store.WithSpansPerName(n))
		return c
	})
}

// WithSpanAttributes keeps attributes of spans with these keys too, beside those of the
// semantic conventions that are kept by default; see store.WithSpanAttributes.
func WithSpanAttributes(keys ...string) Option {
	keys = slices.Clone(keys)
	return optionFunc(func(c config) config {
		c.store = append(c.store, store.WithSpanAttributes(keys...))
		return c
	})
}

// WithoutSpanAttributes keeps no attributes of spans; see store.WithoutSpanAttributes.
func WithoutSpanAttributes() Option {
	return optionFunc(func(c config) config {
		c.store = append(c.store, store.WithoutSpanAttributes())
		return c
	})
}

// WithAllowedHosts adds names by which browsers may ask for the page, which by
// default answers to loopback names alone; see viewer.WithAllowedHosts.
func WithAllowedHosts(hosts ...string) Option {
	hosts = slices.Clone(hosts)
	return optionFunc(func(c config) config {
		c.viewer = append(c.viewer, viewer.WithAllowedHosts(hosts...))
		return c
	})
}
