// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "fmt"

// Option configures a Converter.
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	spanIDs    SpanIDs
	cpuTime    bool
	timestamps bool
}

func newConfig(opts []Option) (config, error) {
	var c config
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if c.spanIDs < Links || c.spanIDs > LinksAndAttributes {
		return c, fmt.Errorf("convert: WithSpanIDs(%v): want Links, Attributes or LinksAndAttributes", c.spanIDs)
	}
	return c, nil
}

// WithSpanIDs sets how messages hold the ids of spans. The default is Links.
func WithSpanIDs(s SpanIDs) Option {
	return optionFunc(func(c config) config {
		c.spanIDs = s
		return c
	})
}

// WithCPUTime sends CPU profiles with both sample types, samples/count and
// cpu/nanoseconds. By default it is samples/count alone, from which backends
// derive the time by the period: Pyroscope, for one, stores the time twice when
// it is given both.
func WithCPUTime() Option {
	return optionFunc(func(c config) config {
		c.cpuTime = true
		return c
	})
}
