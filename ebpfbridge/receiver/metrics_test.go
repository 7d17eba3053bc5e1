// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/internal/exportertest"
)

// meter adds up what it is given, so that the module does without the metrics SDK.
type meter struct {
	noop.MeterProvider

	mu   sync.Mutex
	sums map[string]int64
}

func (m *meter) Meter(string, ...metric.MeterOption) metric.Meter { return meterOf{m: m} }

type meterOf struct {
	noop.Meter
	m *meter
}

func (m meterOf) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{meter: m.m, name: name}, nil
}

type counter struct {
	noop.Int64Counter
	meter *meter
	name  string
}

func (c counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	name := c.name
	attributes := metric.NewAddConfig(opts).Attributes()
	if v, ok := attributes.Value("attribution"); ok {
		name += " " + v.AsString()
	}
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	c.meter.sums[name] += n
}

// TestMetrics has the same numbers in Status, in metrics and for the page.
func TestMetrics(t *testing.T) {
	meters := &meter{sums: map[string]int64{}}
	r, err := New(&exportertest.Recorder{}, lookup, WithMeterProvider(meters))
	if err != nil {
		t.Fatal(err)
	}
	r.pid = 100
	m, twins, broken := newMessage(), newMessage(), newMessage()
	m.process(100, m.record(1, []uint64{5, 3, 9}, "span_id", checkoutID), m.record(2, []uint64{4}))
	twins.process(100, twins.record(1, []uint64{3}, "span_id", checkoutID), twins.record(1, []uint64{5}, "span_id", searchID))
	broken.process(100, broken.record(1, nil, "span_id", checkoutID))
	for _, m := range []message{m, twins, broken} {
		if err := r.take(t.Context(), "connection", m.ExportProfilesServiceRequest); err != nil {
			r.refuse(Status{Messages: 1, Refused: 1, Reason: "broken"}, err)
		}
	}
	if want := (Status{Messages: 3, Refused: 1, Reason: "broken", First: 2, Ambiguous: 2, Witnessed: 2}); r.Status() != want {
		t.Fatalf("%+v, want %+v", r.Status(), want)
	}
	want := map[string]int64{
		"spanprof.receiver.message.received":          3,
		"spanprof.receiver.message.refused":           1,
		"spanprof.receiver.sample.received first":     2,
		"spanprof.receiver.sample.received witnessed": 2,
		"spanprof.receiver.sample.received ambiguous": 2,
	}
	if diff := cmp.Diff(want, meters.sums); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page := maps.Collect(r.Counters)
	if len(page) != len(counts) || page["agent: messages"] != 3 || page["agent: samples ambiguous"] != 2 {
		t.Errorf("for the page: %v", page)
	}
}
