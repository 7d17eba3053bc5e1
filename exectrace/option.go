// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// An Option configures Start.
type Option interface {
	applyTo(recorderConfig) recorderConfig
}

type optionFunc func(recorderConfig) recorderConfig

func (f optionFunc) applyTo(c recorderConfig) recorderConfig { return f(c) }

type recorderConfig struct {
	threshold     time.Duration
	withThreshold bool
	share         float64
	window        time.Duration
	maxBytes      int64
	meterProvider metric.MeterProvider
	optIn         bool
}

const (
	defaultShare  = 0.01
	defaultWindow = 5 * time.Second
	leastWindow   = time.Second
	mostWindow    = time.Minute
	// leastBytes is what a second of an idle program needs, and then some.
	leastBytes = 1 << 20
	// usualBytes is the least default of WithMaxBytes.
	usualBytes = 8 << 20
)

func newRecorderConfig(options []Option) (recorderConfig, error) {
	c := recorderConfig{share: defaultShare, window: defaultWindow, meterProvider: otel.GetMeterProvider()}
	for _, o := range options {
		if o != nil {
			c = o.applyTo(c)
		}
	}
	switch {
	case c.withThreshold && c.threshold <= 0:
		return c, fmt.Errorf("exectrace: WithThreshold(%v): a slow span takes more than 0; leave the option out for the slowest of each name", c.threshold)
	case !(c.share > 0 && c.share <= 1): // so that NaN is refused too
		return c, fmt.Errorf("exectrace: WithBudget(%v): use a share of a core above 0, such as 0.01, and at most 1", c.share)
	case c.window < leastWindow || c.window > mostWindow:
		return c, fmt.Errorf("exectrace: WithWindow(%v): use %v to %v", c.window, leastWindow, mostWindow)
	case c.maxBytes != 0 && c.maxBytes < leastBytes:
		return c, fmt.Errorf("exectrace: WithMaxBytes(%d) is too little for a second of a trace: use at least %d", c.maxBytes, leastBytes)
	case c.meterProvider == nil:
		return c, errors.New("exectrace: WithMeterProvider(nil): leave the option out for the global one")
	}
	if c.maxBytes == 0 {
		c.maxBytes = usualMaxBytes(c.share, c.window)
	}
	return c, nil
}

// usualMaxBytes is the default of WithMaxBytes: twice what the budget allows in the time that
// is recorded.
func usualMaxBytes(share float64, window time.Duration) int64 {
	allowed := share * float64(time.Second/perByte) * (window + time.Second).Seconds()
	return max(2*int64(allowed), usualBytes)
}

// WithThreshold calls spans slow that take d or longer. Without it those are slow that take
// longer than 99 in 100 spans of their name, once there were 100.
func WithThreshold(d time.Duration) Option {
	return optionFunc(func(c recorderConfig) recorderConfig {
		c.threshold, c.withThreshold = d, true
		return c
	})
}

// WithBudget sets what the execution trace may cost: a share of a core, 0.01 by default,
// which is about half a megabyte of trace a second. The cost is computed from its bytes and
// the number of goroutines. On Linux the CPU time of the reading thread counts too. Beyond it, recording pauses until the mean is met again.
// Where that leaves less than a window to record, pauses become longer, up to an hour.
func WithBudget(share float64) Option {
	return optionFunc(func(c recorderConfig) recorderConfig {
		c.share = share
		return c
	})
}

// WithWindow sets how far back the recording reaches at least, by default 5 s: a span that
// began before has no exact times.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c recorderConfig) recorderConfig {
		c.window = d
		return c
	})
}

// WithOptIn records nothing unless the environment has SPANPROF_ENABLED=true.
func WithOptIn() Option {
	return optionFunc(func(c recorderConfig) recorderConfig {
		c.optIn = true
		return c
	})
}

// WithMeterProvider sets where the metrics of the Recorder go. The default is the global
// MeterProvider. They are counters: spanprof.exectrace.span in {span}, by attribute outcome,
// and spanprof.exectrace.event, by attribute event, with the values of Recorder.Counters.
func WithMeterProvider(m metric.MeterProvider) Option {
	return optionFunc(func(c recorderConfig) recorderConfig {
		c.meterProvider = m
		return c
	})
}

// MaxBytes is an option of Analyze and of Start: see [WithMaxBytes].
type MaxBytes struct{ n int64 }

var (
	_ AnalyzeOption = MaxBytes{}
	_ Option        = MaxBytes{}
)

// WithMaxBytes bounds memory.
//
// Of Analyze it bounds what is kept of the trace: about 50 bytes for each change of a
// goroutine's state, which takes about 8 bytes in the trace. Where there is more, the rest
// of the trace is left out, and Analysis.Cut is set. The default is 256 MiB. What is being
// read, about a second of the trace at a time, comes on top, and WithMaxInput bounds it.
//
// Of Start it bounds the recording. Go keeps at least a second of it, whatever that takes:
// where the recording takes more than n bytes, it pauses. The default is 8 MiB, or twice
// what WithBudget allows in the time of a window. To read a recording takes about twelve
// times its size for some 50 ms a megabyte. What is kept of it meanwhile takes 8 times n at most.
// A recording with tens of thousands of new goroutines a second may need more. It is then not
// read to its end, and its spans show that.
func WithMaxBytes(n int64) MaxBytes { return MaxBytes{n} }

func (m MaxBytes) apply(c *analyzeConfig) { c.maxBytes = m.n }

func (m MaxBytes) applyTo(c recorderConfig) recorderConfig {
	c.maxBytes = max(m.n, 1) // 0 is no default
	return c
}
