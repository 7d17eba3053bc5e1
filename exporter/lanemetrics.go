// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spanprof/spanprof/internal/report"
)

// scope is the instrumentation scope of the metrics.
const scope = "github.com/spanprof/spanprof/exporter"

// lanes holds, by their names, how many lanes there have been.
var lanes sync.Map // of string to *atomic.Int64

// componentName returns the name of a new lane in the metrics, which has a number
// as OpenTelemetry's semantic conventions propose: of two lanes with the same name
// a gauge would hide the one that has died.
func componentName(name string) string {
	n, _ := lanes.LoadOrStore(name, new(atomic.Int64))
	return fmt.Sprintf("%s/%d", name, n.(*atomic.Int64).Add(1)-1)
}

var counters = [...]struct {
	name, description string
	of                func(LaneStatus) uint64
}{
	{"exported", "Profiles that the destination has taken.", func(s LaneStatus) uint64 { return s.Exported }},
	{"empty", "Profiles without samples, which were not sent.", func(s LaneStatus) uint64 { return s.Empty }},
	{"failed", "Profiles whose Export returned an error or panicked.", func(s LaneStatus) uint64 { return s.Failed }},
	{"retries", "Attempts to send a profile, after the first.", func(s LaneStatus) uint64 { return s.Retries }},
	{"duplicates", "Exported profiles that the destination may have twice.", func(s LaneStatus) uint64 { return s.Duplicates }},
}

// laneMetrics says in OTel metrics what LaneStatus says. The counters are
// synchronous, so that they keep their values when the lane is gone.
type laneMetrics struct {
	ctx        context.Context // without a span: a loss is not part of one
	attributes metric.MeasurementOption
	counters   [len(counters)]metric.Int64Counter
	dropped    metric.Int64Counter
	callback   metric.Registration

	mu   sync.Mutex
	last LaneStatus // what the counters say
}

func newLaneMetrics(p metric.MeterProvider, name string, status func() LaneStatus) (*laneMetrics, error) {
	m := &laneMetrics{ctx: context.Background(), attributes: metric.WithAttributeSet(attribute.NewSet(
		attribute.String("otel.component.name", componentName(name)),
		attribute.String("otel.component.type", name),
	))}
	meter := p.Meter(scope)
	if meter == nil {
		return nil, errors.New("the meter provider has no meter: leave WithMeterProvider out for the global one")
	}
	var errs []error
	counter := func(name, description string) metric.Int64Counter {
		c, err := meter.Int64Counter("spanprof.exporter.profile."+name, metric.WithUnit("{profile}"), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	for i, c := range counters {
		m.counters[i] = counter(c.name, c.description)
	}
	m.dropped = counter("dropped", "Profiles that were lost, by reason.")
	length, err := meter.Int64ObservableUpDownCounter("spanprof.exporter.queue.length", metric.WithUnit("{profile}"),
		metric.WithDescription("Profiles that wait or are being sent."))
	errs = append(errs, err)
	size, err := meter.Int64ObservableUpDownCounter("spanprof.exporter.queue.size", metric.WithUnit("By"),
		metric.WithDescription("Bytes of the profiles that wait or are being sent."))
	errs = append(errs, err)
	success, err := meter.Float64ObservableGauge("spanprof.exporter.last_success", metric.WithUnit("s"),
		metric.WithDescription("Unix time at which a profile was last exported."))
	errs = append(errs, err)
	m.callback, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := status()
		o.ObserveInt64(length, int64(s.Waiting), m.attributes)
		o.ObserveInt64(size, s.Bytes, m.attributes)
		if !s.LastSuccess.IsZero() {
			o.ObserveFloat64(success, float64(s.LastSuccess.UnixNano())/1e9, m.attributes)
		}
		return nil
	}, length, size, success)
	if err := errors.Join(append(errs, err)...); err != nil {
		m.unregister(m.ctx)
		return nil, err
	}
	return m, nil
}

// unregister ends the callback, as long as ctx lasts in the caller's time: the SDK
// waits for the callbacks that run, and one of the program's may be slow.
func (m *laneMetrics) unregister(ctx context.Context) {
	if m == nil || m.callback == nil { // as a meter of a test may have it
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = report.Contain(m.callback.Unregister)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// record adds to the counters what the account has more than at the last call. It may
// have less: a profile that Shutdown has counted as unsent may still get into a file, or
// be delivered.
func (m *laneMetrics) record(status func() LaneStatus) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, last := status(), m.last
	m.last = now
	for i, c := range counters {
		if n := int64(c.of(now) - c.of(last)); n > 0 {
			m.counters[i].Add(m.ctx, n, m.attributes)
		}
	}
	for _, l := range now.lossesSince(last) {
		if n := int64(l.N); l.Reason != failed && n > 0 {
			m.dropped.Add(m.ctx, n, m.attributes, metric.WithAttributes(attribute.String("reason", l.Reason)))
		}
	}
}
