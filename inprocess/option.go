// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"runtime/debug"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// Option configures Start. A nil Option does nothing.
type Option interface{ apply(c *config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	exporters []exporter.Exporter // beside the store
	profiler  []profiler.Option
	store     []store.Option
	viewer    []viewer.Option
	optIn     bool
}

func newConfig(opts []Option) config {
	build, _ := debug.ReadBuildInfo()
	c := config{
		profiler: []profiler.Option{profiler.WithKinds(exporter.KindCPU, exporter.KindHeap, exporter.KindWall)},
		viewer:   []viewer.Option{viewer.WithSourceCode(viewer.SourceCode{Build: build})},
	}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	if c.optIn {
		c.profiler = append(c.profiler, profiler.WithOptIn())
	}
	if env.Off(c.optIn) {
		c.store = nil // it stays empty, and opens no directory
	}
	return c
}

// WithProfilerOptions adds options of package profiler: the length of windows, kinds, rates and
// budgets. By default CPU, heap and wall time are measured. The kinds mutex and block are empty
// until the program calls runtime.SetMutexProfileFraction and runtime.SetBlockProfileRate.
// Where two options set the same, the later one counts.
//
// Without profiler.WithResource profiles have the resource of the spans of Start's provider, once
// the first span has ended. Windows before have resource.Default().
func WithProfilerOptions(opts ...profiler.Option) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c *config) { c.profiler = append(c.profiler, opts...) })
}

// WithStoreOptions adds options of package store: its memory, by default 64 MiB, a directory,
// sampling and attributes. By default nothing is written to files. With store.WithDirectory
// Start fails if the directory cannot be written, and Shutdown writes what is left.
func WithStoreOptions(opts ...store.Option) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c *config) { c.store = append(c.store, opts...) })
}

// WithViewerOptions adds options of package viewer, such as further hosts. By default the page
// answers to loopback names alone. It links the source code of this build by its versions, and
// shows no text of it.
func WithViewerOptions(opts ...viewer.Option) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(c *config) { c.viewer = append(c.viewer, opts...) })
}

// WithExporter gives every profile to another exporter too, such as one that pushes
// to Pyroscope. The store does not wait for it; Flush does, and so does the page's
// flush button for ten seconds. Shutdown shuts it down, and so does a Start that
// fails. Given again, it adds one more. Nil adds none.
func WithExporter(e exporter.Exporter) Option {
	return optionFunc(func(c *config) {
		c.exporters = append(slices.Clip(c.exporters), e) // NewMulti leaves nil out
	})
}

// WithOptIn starts nothing unless the environment has SPANPROF_ENABLED=true: nothing is
// measured, no span is kept, and no directory is opened. The page then shows how to
// enable it. Give spanprof.NewTracerProvider its option of the same name.
func WithOptIn() Option {
	return optionFunc(func(c *config) { c.optIn = true })
}
