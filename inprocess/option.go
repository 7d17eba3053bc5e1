// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
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
	directory []store.Option
	viewer    []viewer.Option
	code      viewer.SourceCode
	optIn     bool
	// checkEvery is the time between two self-checks for the log.
	checkEvery time.Duration
}

func newConfig(opts []Option) config {
	c := config{checkEvery: checkEvery}
	c.profiler = []profiler.Option{profiler.WithKinds(exporter.KindCPU, exporter.KindHeap, exporter.KindWall)}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if c.optIn {
		c.profiler = append(c.profiler, profiler.WithOptIn())
	}
	if !env.Off(c.optIn) {
		c.store = append(c.store, c.directory...)
	}
	return c
}

// WithResource sets the resource attached to profiles. Give it the resource of the tracer
// provider. Without it profiles have the resource of the spans of Start's provider, once the
// first span has started. A window that ends before has resource.Default(). Without a
// provider all windows have it.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c config) config {
		c.profiler = append(c.profiler, profiler.WithResource(r))
		return c
	})
}

// WithKinds sets the measured kinds, by default CPU, heap and wall; see profiler.WithKinds. The
// budget of wall time is 1 % of a core, see profiler.WithWallBudget.
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

// WithProfilerOptions adds options of package profiler, such as rates and budgets. The kinds
// mutex and block are empty without
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
// fails. Given again, it adds one more. Nil adds none; a nil pointer is reported too.
func WithExporter(e exporter.Exporter) Option {
	return optionFunc(func(c config) config {
		if present("WithExporter: the exporter", e) {
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
// them. The page shows the files of earlier processes too: slow spans before a crash are
// there after the restart. By default nothing is written. Start fails where
// the directory cannot be written; Shutdown writes what is left. See store.WithDirectory.
func WithDirectory(path string, maxBytes int64) Option {
	return optionFunc(func(c config) config {
		c.directory = []store.Option{store.WithDirectory(path, maxBytes)}
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

// WithSpanAttributes keeps attributes of spans with these keys too, beside the default
// attributes of the semantic conventions; see store.WithSpanAttributes.
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

// WithOptIn starts nothing unless the environment has SPANPROF_ENABLED=true: nothing is
// measured, no span is kept, and no directory is opened. The page then shows how to
// enable it. Give spanprof.NewTracerProvider its option of the same name.
func WithOptIn() Option {
	return optionFunc(func(c config) config {
		c.optIn = true
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

// WithSourceCode sets where the page finds source code; see viewer.SourceCode. By default it
// links the files of this build by their versions, and shows no text. A nil Build means this
// build.
func WithSourceCode(code viewer.SourceCode) Option {
	return optionFunc(func(c config) config {
		c.code = code
		return c
	})
}
