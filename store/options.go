// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"

	"github.com/spanprof/spanprof/store/internal/attributes"
)

const (
	defaultMaxBytes = 64 << 20
	// minMaxBytes has room for four segments, the least number with one that is evicted.
	minMaxBytes       = 8 << 20
	minDirectoryBytes = 4 << 20
)

// Option configures a Store. A nil Option does nothing.
type Option interface {
	apply(*config)
}

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	maxBytes int64
	fraction float64
	// attributes are the keys to keep beside the default ones.
	attributes        []string
	withoutAttributes bool
	// directory is empty if nothing is written.
	directory      string
	directoryBytes int64
}

func newConfig(opts []Option) (config, error) {
	c := config{maxBytes: defaultMaxBytes, fraction: 1}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	if c.maxBytes < minMaxBytes {
		return config{}, fmt.Errorf("store: %d bytes are too few: WithMaxBytes needs at least %d (8 MiB)", c.maxBytes, minMaxBytes)
	}
	// Written so that NaN is refused too.
	if !(c.fraction >= 0 && c.fraction <= 1) {
		return config{}, fmt.Errorf("store: WithSampling(%v): use a fraction from 0, to keep no spans, to 1, to keep all", c.fraction)
	}
	if len(c.attributes) > attributes.MaxKeys {
		return config{}, fmt.Errorf("store: WithSpanAttributes: %d keys are too many: name %d at most", len(c.attributes), attributes.MaxKeys)
	}
	if c.directory != "" && c.directoryBytes < minDirectoryBytes {
		return config{}, fmt.Errorf("store: WithDirectory: %d bytes are too few for %s: give it at least %d (4 MiB)", c.directoryBytes, c.directory, minDirectoryBytes)
	}
	return c, nil
}

// WithMaxBytes bounds the memory of the store to n bytes. Spans take at most a quarter, and
// more only until it fills. The default is 64 MiB, the minimum is 8 MiB. A profile that alone
// takes half is refused.
func WithMaxBytes(n int64) Option {
	return optionFunc(func(c *config) { c.maxBytes = n })
}

// WithSampling keeps the spans of that fraction of the traces: 0.1 keeps one trace in ten. It
// depends on the trace's id, so processes with the same fraction keep the same traces. The
// others count in NameTotals, and their samples are kept. The default is 1: all.
func WithSampling(fraction float64) Option {
	return optionFunc(func(c *config) { c.fraction = fraction })
}

// WithSpanAttributes keeps attributes with these keys too, at most 64, beside the default ones
// (see the package documentation). Lists of numbers are not kept. Leave out values that identify
// people. Given again, it adds more.
func WithSpanAttributes(keys ...string) Option {
	keys = slices.Clone(keys)
	return optionFunc(func(c *config) { c.attributes = append(c.attributes, keys...) })
}

// WithoutSpanAttributes keeps no attributes of spans, and no exceptions. It wins
// over WithSpanAttributes. The description of a span's status is kept all the same.
func WithoutSpanAttributes() Option {
	return optionFunc(func(c *config) { c.withoutAttributes = true })
}

// WithDirectory also keeps profiles and spans in files of a directory, and starts with what
// earlier processes left there. The directory is created if it is missing. By default, and
// with an empty path, nothing is written.
//
// Windows are written when they arrive, in the pprof format, with the spans that ended since
// as lines of JSON. Files have mode 0600, directories 0700. They hold what the page shows. All
// files of this process and of earlier ones take at most maxBytes, at least 4 MiB. The oldest
// segments are removed first. Spans that outlive their segment have a quarter of the bytes.
// Each process has a subdirectory of its own. Processes that run at the same time each have
// that bound.
//
// New fails if the directory cannot be written. Later errors, such as a full disk, are counted
// in Stats and reported to otel.Handle. The store then goes on in memory. Files that are
// damaged or cannot be read are left unchanged and reported. So are directories of earlier
// versions. A process that is killed loses its last window and the spans since.
//
// Restored spans and windows have Earlier set, and count in [DirectoryStats] only. The store
// needs a Shutdown. If OTEL_SDK_DISABLED or SPANPROF_DISABLED is true, the directory is not used.
func WithDirectory(path string, maxBytes int64) Option {
	return optionFunc(func(c *config) { c.directory, c.directoryBytes = path, maxBytes })
}
