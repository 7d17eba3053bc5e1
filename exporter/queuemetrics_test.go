// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/exporter"
)

// meterProvider adds up what it is given, so that the module does without the
// metrics SDK.
type meterProvider struct {
	noop.MeterProvider
	meter *meter
}

func (p meterProvider) Meter(string, ...metric.MeterOption) metric.Meter { return p.meter }

type meter struct {
	noop.Meter

	mu        sync.Mutex
	sums      map[string]float64
	callbacks []*registration
	fail      error
	busy      chan struct{} // if there is one, Unregister waits until it is closed
}

func (m *meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{meter: m, name: name}, m.fail
}

func (m *meter) Int64ObservableUpDownCounter(name string, _ ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return observable{name: name}, nil
}

func (m *meter) Float64ObservableGauge(name string, _ ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return gauge{name: name}, nil
}

func (m *meter) RegisterCallback(f metric.Callback, _ ...metric.Observable) (metric.Registration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &registration{meter: m, callback: f}
	m.callbacks = append(m.callbacks, r)
	return r, nil
}

func (m *meter) add(name string, set attribute.Set, v float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums[name+"{"+set.Encoded(attribute.DefaultEncoder())+"}"] += v
}

func (m *meter) registered() []*registration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.callbacks)
}

// collect returns all sums after a callback.
func (m *meter) collect(t *testing.T) map[string]float64 {
	t.Helper()
	for _, r := range m.registered() {
		if err := r.callback(t.Context(), observer{meter: m}); err != nil {
			t.Error(err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sums := m.sums
	m.sums = map[string]float64{}
	return sums
}

type counter struct {
	noop.Int64Counter
	meter *meter
	name  string
}

func (c counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	c.meter.add(c.name, metric.NewAddConfig(opts).Attributes(), float64(n))
}

type observable struct {
	noop.Int64ObservableUpDownCounter
	name string
}

type gauge struct {
	noop.Float64ObservableGauge
	name string
}

type observer struct {
	embedded.Observer
	meter *meter
}

func (o observer) ObserveInt64(i metric.Int64Observable, v int64, opts ...metric.ObserveOption) {
	o.meter.add(i.(observable).name, metric.NewObserveConfig(opts).Attributes(), float64(v))
}

func (o observer) ObserveFloat64(i metric.Float64Observable, v float64, opts ...metric.ObserveOption) {
	o.meter.add(i.(gauge).name, metric.NewObserveConfig(opts).Attributes(), v)
}

type registration struct {
	embedded.Registration
	meter    *meter
	callback metric.Callback
}

func (r *registration) Unregister() error {
	if r.meter.busy != nil {
		<-r.meter.busy
	}
	r.meter.mu.Lock()
	defer r.meter.mu.Unlock()
	r.meter.callbacks = slices.DeleteFunc(r.meter.callbacks, func(other *registration) bool { return other == r })
	return nil
}

// noMeter and noRegistration are what a double in a test may be.
type (
	noMeter        struct{ noop.MeterProvider }
	noRegistration struct{ noop.MeterProvider }
	bareMeter      struct{ noop.Meter }
)

func (noMeter) Meter(string, ...metric.MeterOption) metric.Meter        { return nil }
func (noRegistration) Meter(string, ...metric.MeterOption) metric.Meter { return bareMeter{} }

func (bareMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, nil
}

func TestQueueMetricsOfDoubles(t *testing.T) {
	if _, err := exporter.NewQueue("test", new(destination), exporter.WithMeterProvider(noMeter{})); err == nil || !strings.Contains(err.Error(), "has no meter") {
		t.Errorf("NewQueue without a meter: %v", err)
	}
	shutdown(t, newQueue(t, new(destination), exporter.WithMeterProvider(noRegistration{})))
}

// The default is the global MeterProvider.
func TestQueueMetricsGlobal(t *testing.T) {
	m := &meter{sums: map[string]float64{}}
	otel.SetMeterProvider(meterProvider{meter: m})
	t.Cleanup(func() { otel.SetMeterProvider(noop.NewMeterProvider()) })
	// By that name, because the metrics of other tests' Queues go there too.
	q, err := exporter.NewQueue("global", new(destination))
	if err != nil {
		t.Fatal(err)
	}
	export(t, q, "a", "b")
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	got := map[string]float64{}
	for key, v := range m.collect(t) {
		if name, attributes, _ := strings.Cut(key, "{"); strings.Contains(attributes, "otel.component.type=global") {
			got[name] = v
		}
	}
	if got["spanprof.exporter.profile.exported"] != 2 || got["spanprof.exporter.last_success"] == 0 {
		t.Errorf("metrics %v, want 2 profiles exported, and when", got)
	}
	shutdown(t, q)
}

// number is what Queues of one name have in the metrics.
var number = regexp.MustCompile(`test/\d+`)

// A gauge of one Queue would hide that of another.
func TestQueueMetricsTellQueuesApart(t *testing.T) {
	names := map[string]bool{}
	for range 2 {
		m := &meter{sums: map[string]float64{}}
		q := newQueue(t, new(destination), exporter.WithMeterProvider(meterProvider{meter: m}))
		for key := range m.collect(t) {
			names[number.FindString(key)] = true
		}
		shutdown(t, q)
	}
	if len(names) != 2 || names[""] {
		t.Errorf("names %v, want two", names)
	}
}

// The SDK does not let a callback go while it runs the program's, which may take
// their time.
func TestQueueShutdownWhileMetricsAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{sums: map[string]float64{}, busy: make(chan struct{})}
		d := new(destination)
		q := newQueue(t, d, exporter.WithMeterProvider(meterProvider{meter: m}))
		export(t, q, "a")
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := q.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 200*time.Millisecond {
			t.Errorf("Shutdown took %v", took)
		}
		wantTaken(t, d, "a")
		close(m.busy)
	})
}

func TestQueueMetrics(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		m := &meter{sums: map[string]float64{}}
		d := new(destination)
		d.send = func(_ context.Context, name string) error {
			switch {
			case name == "bad":
				return errors.New("400")
			case len(d.at) == 1:
				return &exporter.RetryError{Err: errors.New("500")}
			}
			return nil
		}
		q := newQueue(t, d, exporter.WithMeterProvider(meterProvider{meter: m}))
		export(t, q, "a", "b", "bad")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		now := float64(time.Now().UnixNano()) / 1e9
		const component = "otel.component.name=test/N,otel.component.type=test"
		const name = "{" + component + "}"
		want := map[string]float64{
			"spanprof.exporter.profile.exported" + name:                            2,
			"spanprof.exporter.profile.retries" + name:                             1,
			"spanprof.exporter.profile.duplicates" + name:                          1,
			"spanprof.exporter.profile.dropped{" + component + ",reason=rejected}": 1,
			"spanprof.exporter.queue.length" + name:                                0,
			"spanprof.exporter.queue.size" + name:                                  0,
			"spanprof.exporter.last_success" + name:                                now,
		}
		got := map[string]float64{}
		for key, v := range m.collect(t) {
			got[number.ReplaceAllString(key, "test/N")] = v
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		shutdown(t, q)
		if got := m.collect(t); len(got) != 0 {
			t.Errorf("after Shutdown: %v", got)
		}

		m.fail = errors.New("no more counters")
		if _, err := exporter.NewQueue("test", d, exporter.WithMeterProvider(meterProvider{meter: m})); !errors.Is(err, m.fail) {
			t.Errorf("NewQueue: %v, want the meter's error", err)
		}
		if len(m.registered()) > 0 {
			t.Error("the callback of a Queue that is not there has stayed")
		}
	})
}
