// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import "fmt"

// minLeaf is the number of frames that make a call.
const minLeaf = 2

type config struct {
	leaf    int
	trimmed bool
	balance bool
	span    string
	bySpan  bool
}

// Option changes what Merge and NewMerger do.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

func newConfig(opts []Option) (config, error) {
	var c config
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if c.trimmed && c.leaf < minLeaf {
		return config{}, fmt.Errorf("pgo: stacks of %d frames hold no call: WithLeaf needs at least %d", c.leaf, minLeaf)
	}
	return c, nil
}

// WithLeaf keeps the n innermost frames of each stack, for a smaller file. A
// function that was inlined belongs to its caller's frame and is kept with it. The
// compiler of Go 1.26 looks at the two innermost frames, so that it loses nothing
// from n = 2 on; with 5 there is something left to read in pprof. It is an error if n
// is less than 2. By default stacks stay whole.
func WithLeaf(n int) Option {
	return optionFunc(func(c config) config {
		c.leaf, c.trimmed = n, true
		return c
	})
}

// WithBalance gives each replica the same weight, so that a busy one does not drown
// the others: the CPU time of its samples is multiplied until all replicas have the
// same sum. The sum of all stays what it was, and so do the counts of samples. By
// default a replica weighs as much as the CPU time that it used.
func WithBalance() Option {
	return optionFunc(func(c config) config {
		c.balance = true
		return c
	})
}

// WithSpan keeps the samples of spans with this name: those whose label span_name
// equals it. By default all samples are kept, those of no span too.
func WithSpan(name string) Option {
	return optionFunc(func(c config) config {
		c.span, c.bySpan = name, true
		return c
	})
}
