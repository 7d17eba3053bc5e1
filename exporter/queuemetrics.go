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

	"github.com/spanprof/spanprof/internal/handoff"
)

// scope is the instrumentation scope of the metrics.
const scope = "github.com/spanprof/spanprof/exporter"

// dropReason is the attribute "reason" of what was dropped.
type dropReason string

const (
	full       dropReason = "full"
	expired    dropReason = "expired"
	rejected   dropReason = "rejected"
	failing    dropReason = "failing"
	unreadable dropReason = "unreadable"
	unsent     dropReason = "unsent"
)

// queues holds, by their names, how many Queues there have been.
var queues sync.Map // of string to *atomic.Int64

// componentName returns the name of a new Queue in the metrics, which has a number
// as OpenTelemetry's semantic conventions propose: of two Queues with the same name
// a gauge would hide the one that has died.
func componentName(name string) string {
	n, _ := queues.LoadOrStore(name, new(atomic.Int64))
	return fmt.Sprintf("%s/%d", name, n.(*atomic.Int64).Add(1)-1)
}

// queueMetrics says in OTel metrics what QueueStats says. The counters are
// synchronous, so that they keep their values when the Queue is gone.
type queueMetrics struct {
	exported, dropped, retries, duplicates metric.Int64Counter
	ctx                                    context.Context // of no span: a loss is nobody's work
	attributes                             metric.MeasurementOption
	callback                               metric.Registration
}

func newQueueMetrics(p metric.MeterProvider, name string, stats func() QueueStats) (*queueMetrics, error) {
	m := &queueMetrics{ctx: context.Background(), attributes: metric.WithAttributeSet(attribute.NewSet(
		attribute.String("otel.component.name", componentName(name)),
		attribute.String("otel.component.type", name),
	))}
	meter := p.Meter(scope)
	if meter == nil {
		return nil, errors.New("the meter provider has no meter: leave WithMeterProvider out for the global one")
	}
	var errs [7]error
	counter := func(i int, name, description string) (c metric.Int64Counter) {
		c, errs[i] = meter.Int64Counter("spanprof.exporter.profile."+name, metric.WithUnit("{profile}"), metric.WithDescription(description))
		return c
	}
	m.exported = counter(0, "exported", "Profiles that the destination has taken.")
	m.dropped = counter(1, "dropped", "Profiles that were lost, by reason.")
	m.retries = counter(2, "retries", "Attempts to send a profile, after the first.")
	m.duplicates = counter(3, "duplicates", "Exported profiles that the destination may have twice.")
	size, err := meter.Int64ObservableUpDownCounter("spanprof.exporter.queue.size", metric.WithUnit("By"),
		metric.WithDescription("Bytes of the profiles that wait or are being sent."))
	errs[4] = err
	success, err := meter.Float64ObservableGauge("spanprof.exporter.last_success", metric.WithUnit("s"),
		metric.WithDescription("Unix time at which a profile was last exported."))
	errs[5] = err
	m.callback, errs[6] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := stats()
		o.ObserveInt64(size, s.WaitingBytes, m.attributes)
		if !s.LastSuccess.IsZero() {
			o.ObserveFloat64(success, float64(s.LastSuccess.UnixNano())/1e9, m.attributes)
		}
		return nil
	}, size, success)
	if err := errors.Join(errs[:]...); err != nil {
		m.unregister(m.ctx)
		return nil, err
	}
	return m, nil
}

// unregister ends the callback, as long as ctx lasts in the caller's time: the SDK
// waits for the callbacks that run, and one of the program's may be slow.
func (m *queueMetrics) unregister(ctx context.Context) {
	if m.callback == nil { // as a meter of a test may have it
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = handoff.Contain(m.callback.Unregister)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// drop counts n profiles that were lost.
func (m *queueMetrics) drop(n int, reason dropReason) {
	if n > 0 {
		m.dropped.Add(m.ctx, int64(n), m.attributes, metric.WithAttributes(attribute.String("reason", string(reason))))
	}
}

// export counts a profile that was delivered.
func (m *queueMetrics) export(duplicate bool) {
	m.exported.Add(m.ctx, 1, m.attributes)
	if duplicate {
		m.duplicates.Add(m.ctx, 1, m.attributes)
	}
}

func (m *queueMetrics) retry() { m.retries.Add(m.ctx, 1, m.attributes) }
