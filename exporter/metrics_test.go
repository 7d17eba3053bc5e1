// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/exporter"
)

// meterProvider sums what counters count, by name, queue and reason.
type meterProvider struct {
	noop.MeterProvider
	mu   sync.Mutex
	sums map[string]int64
}

func (p *meterProvider) Meter(string, ...metric.MeterOption) metric.Meter { return meter{provider: p} }

type meter struct {
	noop.Meter
	provider *meterProvider
}

func (p meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return &counter{name: strings.TrimPrefix(name, "spanprof.exporter.profile."), provider: p.provider}, nil
}

type counter struct {
	noop.Int64Counter
	name     string
	provider *meterProvider
}

func (c *counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	set := metric.NewAddConfig(opts).Attributes()
	name := c.name
	for _, kv := range set.ToSlice() {
		name += " " + kv.Value.AsString()
	}
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.provider.sums[name] += n
}

// The counters have the account of a queue.
func TestMetrics(t *testing.T) {
	defer otel.SetMeterProvider(noop.NewMeterProvider())
	p := &meterProvider{sums: map[string]int64{}}
	otel.SetMeterProvider(p)
	attempts := 0
	q := newQueue(t, &destination{answer: func(_ context.Context, id string) (bool, error) {
		switch attempts++; {
		case attempts == 1:
			return true, retry(exporter.RetryError{})
		case id == "bad":
			return false, errors.New("400")
		}
		return true, nil
	}}, exporter.QueueConfig{})
	export(t, q, "a", "b", "bad")
	if err := q.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown: want the loss")
	}
	_ = q.Export(t.Context(), exporter.NewProfile(exporter.Window{}, nil))
	p.mu.Lock()
	defer p.mu.Unlock()
	want := map[string]int64{"exported test": 2, "retries test": 1, "duplicates test": 1, "dropped test rejected": 1, "dropped test unsent": 1}
	if diff := cmp.Diff(want, p.sums); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}
