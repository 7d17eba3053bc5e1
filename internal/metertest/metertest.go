// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package metertest has a MeterProvider that sums counters: tests need no metrics SDK.
package metertest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	"go.opentelemetry.io/otel/metric/noop"
)

// Sums has what all counters have counted.
type Sums struct {
	noop.MeterProvider

	mu   sync.Mutex
	sums map[string]float64
}

// New makes Sums the global MeterProvider until the end of the test.
func New(t *testing.T) *Sums {
	s := &Sums{sums: map[string]float64{}}
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(s)
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	return s
}

// Of returns the sums of counters that begin with a prefix. A key is the rest of the name and the
// attributes: "exported k=v" or "k=v".
func (s *Sums) Of(prefix string) map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]float64{}
	for name, sum := range s.sums {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			found[strings.TrimPrefix(rest, " ")] = sum
		}
	}
	return found
}

func (s *Sums) add(name string, n float64, options []metric.AddOption) {
	set := metric.NewAddConfig(options).Attributes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums[strings.TrimSpace(name+" "+set.Encoded(attribute.DefaultEncoder()))] += n
}

// Meter returns a meter of these sums.
func (s *Sums) Meter(string, ...metric.MeterOption) metric.Meter { return meter{sums: s} }

type meter struct {
	noop.Meter
	sums *Sums
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter[int64]{sums: m.sums, name: name}, nil
}

func (m meter) Float64Counter(name string, _ ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	return counter[float64]{sums: m.sums, name: name}, nil
}

func (m meter) Int64UpDownCounter(name string, _ ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return counter[int64]{sums: m.sums, name: name}, nil
}

// counter is each kind of counter.
type counter[N int64 | float64] struct {
	embedded.Int64Counter
	embedded.Int64UpDownCounter
	embedded.Float64Counter
	sums *Sums
	name string
}

func (c counter[N]) Add(_ context.Context, n N, options ...metric.AddOption) {
	c.sums.add(c.name, float64(n), options)
}

func (c counter[N]) Enabled(context.Context) bool { return true }
