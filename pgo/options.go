// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

type config struct {
	leaf int    // frames to keep; 0 for all
	span string // "" for all samples
}

// Option changes what Merge does.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// WithLeaf keeps the n innermost frames of each stack, for a smaller file. An inlined
// function belongs to the frame of its caller. The compiler of Go 1.26 reads the two
// innermost frames. With n = 5 the file is still readable in pprof. Merge returns an
// error if n is 1 or negative. By default, and for 0, stacks stay whole.
func WithLeaf(n int) Option {
	return optionFunc(func(c config) config {
		c.leaf = n
		return c
	})
}

// WithSpan keeps the samples with the label span_name of this value. By default, all
// samples are kept, as for "".
func WithSpan(name string) Option {
	return optionFunc(func(c config) config {
		c.span = name
		return c
	})
}
