// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/store/internal/attributes"
)

const (
	defaultMaxBytes = 64 << 20
	// minMaxBytes has room for one CPU profile of a small HTTP service: with its
	// code, ten seconds of one take up to 0.8 MB (store/testdata/service).
	minMaxBytes = 2 << 20

	defaultSpansPerName = 20
	maxSpansPerName     = 1000
)

// Option configures a Store. A nil Option does nothing.
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	maxBytes     int64
	minDuration  time.Duration
	fraction     float64
	spansPerName int
	// attributes are the keys to keep beside the default ones.
	attributes        []string
	withoutAttributes bool
	// directory is empty where nothing is written.
	directory      string
	directoryBytes int64
	withDirectory  bool
}

func newConfig(opts []Option) (config, error) {
	c := config{maxBytes: defaultMaxBytes, fraction: 1, spansPerName: defaultSpansPerName}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if c.maxBytes < minMaxBytes {
		return config{}, fmt.Errorf("store: %d bytes are too few: WithMaxBytes needs at least %d (2 MiB), as a CPU profile of a small HTTP service takes up to 0.8 MB and profiles get three quarters", c.maxBytes, minMaxBytes)
	}
	if c.minDuration < 0 {
		return config{}, fmt.Errorf("store: WithMinDuration(%s) is negative: use 0 to keep spans of any duration", c.minDuration)
	}
	// Written so that NaN is refused too.
	if !(c.fraction >= 0 && c.fraction <= 1) {
		return config{}, fmt.Errorf("store: WithSampling(%v): use a fraction from 0, to keep no spans, to 1, to keep all", c.fraction)
	}
	if c.spansPerName < 0 || c.spansPerName > maxSpansPerName {
		return config{}, fmt.Errorf("store: WithSpansPerName(%d): use a number from 0, to keep the newest spans alone, to %d", c.spansPerName, maxSpansPerName)
	}
	if len(c.attributes) > attributes.MaxKeys {
		return config{}, fmt.Errorf("store: WithSpanAttributes: %d keys are too many: name %d at most", len(c.attributes), attributes.MaxKeys)
	}
	for _, key := range c.attributes {
		if key == "" || len(key) > attributes.MaxKeyLen {
			return config{}, fmt.Errorf("store: WithSpanAttributes: a key has 1 to %d bytes, this one %d", attributes.MaxKeyLen, len(key))
		}
	}
	if c.withDirectory && c.directory == "" {
		return config{}, errors.New("store: WithDirectory: the directory has no name: use . for the working directory")
	}
	if c.withDirectory && c.directoryBytes < minDirectoryBytes {
		return config{}, fmt.Errorf("store: WithDirectory: %d bytes are too few for %s: give it at least %d (4 MiB)", c.directoryBytes, c.directory, minDirectoryBytes)
	}
	return c, nil
}

// attributeKeys returns the attributes to keep, nil for none.
func (c config) attributeKeys() *attributes.Keys {
	if c.withoutAttributes {
		return nil
	}
	return attributes.NewKeys(c.attributes)
}

// WithMaxBytes bounds the memory of the store to n bytes, of which spans take
// at most a quarter and profiles three quarters. The default is 64 MiB, the
// least is 2 MiB, which has room for some profiles of a small service.
func WithMaxBytes(n int64) Option {
	return optionFunc(func(c config) config {
		c.maxBytes = n
		return c
	})
}

// WithMinDuration keeps only spans that took d or longer, so that the store
// reaches further back. Shorter ones, those with errors too, count in NameTotals,
// and their samples are kept like those of any span; Spans does not list them, and
// Span finds only the newest of them. The default is 0: all spans are kept.
func WithMinDuration(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.minDuration = d
		return c
	})
}

// WithSampling keeps the spans of that fraction of the traces: 0.1 keeps those
// of one trace in ten, by the trace's id, so that all spans of a trace are kept
// or none is, and processes with the same fraction keep the same ones. The others
// count in NameTotals, and their samples are kept like those of any span; Spans
// does not list them, however slow they are and whether they failed or not. The
// default is 1: all.
func WithSampling(fraction float64) Option {
	return optionFunc(func(c config) config {
		c.fraction = fraction
		return c
	})
}

// WithSpansPerName keeps, of each span name of a service, the n slowest spans
// and the n with most CPU time when newer ones push the others out. The default
// is 20, the most is 1000; 0 keeps the newest spans alone.
func WithSpansPerName(n int) Option {
	return optionFunc(func(c config) config {
		c.spansPerName = n
		return c
	})
}

// WithSpanAttributes keeps attributes with these keys too, at most 64, beside those
// of the semantic conventions that are kept by default (see the package
// documentation). Values that identify people are better left out. Given again, it
// adds more.
func WithSpanAttributes(keys ...string) Option {
	keys = slices.Clone(keys)
	return optionFunc(func(c config) config {
		c.attributes = append(slices.Clip(c.attributes), keys...)
		return c
	})
}

// WithoutSpanAttributes keeps no attributes of spans, and no exceptions. It wins
// over WithSpanAttributes. The description of a span's status is kept all the same.
func WithoutSpanAttributes() Option {
	return optionFunc(func(c config) config {
		c.withoutAttributes = true
		return c
	})
}

// WithDirectory also keeps profiles and spans in files of a directory, which is made if
// there is none, and takes in what earlier processes have left there: what was slow before
// the process died is there after the restart. By default nothing is written.
//
// Windows are written as they come, in the pprof format; spans that ended with them as
// lines of JSON. All files of this run and of earlier ones take at most maxBytes, at least
// 4 MiB. The oldest make room, but for spans that outlive others and for their samples, which
// have a quarter each; such spans stay on the disk also where WithMaxBytes has no room for
// them. Each process has a subdirectory of its own there, and processes that run at the same
// time each have that bound.
//
// New fails where the directory cannot be written. What fails later, as on a full disk, is
// counted in Stats and reported to otel.Handle, and goes on in memory. So is a window of more than
// about half of maxBytes: no other file goes for it. A full disk takes no more old files than a new
// one needs, at the start too, and where that does not help, one in 16 writes tries it again. Where
// a file cannot be removed, the next oldest goes. What another user has
// written is left alone and reported. What a later version of this package has written is
// reported, stays as it is, and makes room when it is the oldest.
//
// Restored spans and windows have [Process] in their field Earlier. They are the oldest that there are,
// never make others leave, and count in nothing but [DirectoryStats]. The store then needs
// a Shutdown. Where OTEL_SDK_DISABLED or SPANPROF_DISABLED is true, the directory is left
// alone.
func WithDirectory(path string, maxBytes int64) Option {
	return optionFunc(func(c config) config {
		c.directory, c.directoryBytes, c.withDirectory = path, maxBytes, true
		return c
	})
}
