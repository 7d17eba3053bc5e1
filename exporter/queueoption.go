// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

const (
	defaultMaxBytes = 32 << 20
	defaultMaxAge   = 10 * time.Minute
	// defaultSpillMaxAge lets files outlive a night's outage of a server.
	defaultSpillMaxAge = 24 * time.Hour
	// defaultTimeout is the default of the OTLP exporters.
	defaultTimeout = 10 * time.Second
)

// QueueOption configures a [Queue]. A nil QueueOption does nothing.
type QueueOption interface {
	apply(c queueConfig) queueConfig
}

type queueOptionFunc func(queueConfig) queueConfig

func (f queueOptionFunc) apply(c queueConfig) queueConfig { return f(c) }

type queueConfig struct {
	maxBytes      int64
	maxAge        time.Duration
	timeout       time.Duration
	spill         bool
	spillMaxAge   time.Duration
	durability    atomicfile.Durability
	dir           string
	meterProvider metric.MeterProvider
}

// maxMemory bounds what waits in memory. With a directory, maxBytes is chosen for a disk:
// a process whose disk is full must not take that much instead.
func (c queueConfig) maxMemory() int64 {
	if c.spill {
		return min(c.maxBytes, defaultMaxBytes)
	}
	return c.maxBytes
}

// WithMaxBytes bounds the profiles that wait, by the sum of their pprof forms,
// which are gzipped as a rule. When there is no room for a new profile, the
// oldest are dropped; where the one that is being sent leaves none, the new one
// is. The default is 32 MiB. NewQueue refuses less than 1.
func WithMaxBytes(n int64) QueueOption {
	return queueOptionFunc(func(c queueConfig) queueConfig {
		c.maxBytes = n
		return c
	})
}

// WithMaxAge sets when a profile that waits in memory is dropped: d after the end of
// its window. The default is 10 min. NewQueue refuses less than 1 ns.
func WithMaxAge(d time.Duration) QueueOption {
	return queueOptionFunc(func(c queueConfig) queueConfig {
		c.maxAge = d
		return c
	})
}

// WithTimeout bounds one attempt to send a profile. The default is 10 s.
// NewQueue refuses less than 1 ns.
func WithTimeout(d time.Duration) QueueOption {
	return queueOptionFunc(func(c queueConfig) queueConfig {
		c.timeout = d
		return c
	})
}

// WithSpill keeps the profiles that wait in files in dir, not in memory, so that
// they survive the process, even if it is killed: the next Queue with that dir
// sends them. dir is made if it does not exist. WithMaxBytes bounds the files.
//
// A directory belongs to one Queue at a time, which the file spanprof.lock in it
// says: NewQueue waits a second for another to end, and then fails. A file is
// written when a profile arrives and removed when it has been delivered or
// dropped. Where none can be written, the profile waits in memory,
// LaneStatus.NotSpilled counts it, and it is written when that works again. However
// large WithMaxBytes is for the files, at most 32 MiB wait so: beyond that the oldest
// of those in memory are dropped, and counted as full. A file
// that is damaged is never sent: it is renamed to end in .damaged, stays, and
// LaneStatus.Unreadable counts it. NewQueue fails if no file can be written.
func WithSpill(dir string) QueueOption {
	return queueOptionFunc(func(c queueConfig) queueConfig {
		c.spill, c.dir = true, dir
		return c
	})
}

// WithSpillMaxAge sets when a profile that waits in a file is dropped: d after the end
// of its window. The default is 24 h, and 1 h in exporter/pyroscope, whose server
// refuses older ones by default. NewQueue refuses less than 1 ns.
func WithSpillMaxAge(d time.Duration) QueueOption {
	return queueOptionFunc(func(c queueConfig) queueConfig {
		c.spillMaxAge = d
		return c
	})
}

// WithSpillSync has each file survive a crash of the machine, not of the process
// alone: Export then waits milliseconds for the disk. NewQueue refuses it without
// WithSpill.
func WithSpillSync() QueueOption {
	return queueOptionFunc(func(c queueConfig) queueConfig {
		c.durability = atomicfile.Machine
		return c
	})
}

// WithMeterProvider sets where the metrics of the Queue go. The default is the
// global MeterProvider. NewQueue refuses nil.
func WithMeterProvider(m metric.MeterProvider) QueueOption {
	return queueOptionFunc(func(c queueConfig) queueConfig {
		c.meterProvider = m
		return c
	})
}

func newQueueConfig(opts []QueueOption) (queueConfig, error) {
	c := queueConfig{
		maxBytes:      defaultMaxBytes,
		maxAge:        defaultMaxAge,
		spillMaxAge:   defaultSpillMaxAge,
		timeout:       defaultTimeout,
		meterProvider: otel.GetMeterProvider(),
	}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	switch {
	case c.maxBytes < 1:
		return c, fmt.Errorf("max bytes of %d leaves no room for a profile: leave WithMaxBytes out for %d", c.maxBytes, int64(defaultMaxBytes))
	case c.maxAge < 1:
		return c, fmt.Errorf("max age of %v drops every profile: leave WithMaxAge out for %v", c.maxAge, defaultMaxAge)
	case c.spillMaxAge < 1:
		return c, fmt.Errorf("max age of %v drops every spilled profile: leave WithSpillMaxAge out for %v", c.spillMaxAge, defaultSpillMaxAge)
	case c.timeout < 1:
		return c, fmt.Errorf("timeout of %v lets no attempt succeed: leave WithTimeout out for %v", c.timeout, defaultTimeout)
	case c.spill && c.dir == "":
		return c, errors.New("spill directory has no name: name one, or leave WithSpill out")
	case c.durability == atomicfile.Machine && !c.spill:
		return c, errors.New("WithSpillSync without WithSpill makes nothing durable: name a directory by WithSpill")
	case c.meterProvider == nil:
		return c, errors.New("meter provider is nil: leave WithMeterProvider out for the global one")
	}
	return c, nil
}

// age returns how old an item may become.
func (c queueConfig) age(i *item) time.Duration {
	if i.spilled {
		return c.spillMaxAge
	}
	return c.maxAge
}
