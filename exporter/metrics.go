// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spanprof/spanprof/internal/report"
)

// queues counts the queues of each name.
var queues sync.Map // of string to *atomic.Int64

// componentName returns the name with a number, as OpenTelemetry's semantic
// conventions propose: pyroscope/0. Two queues with one name need different gauges.
func componentName(name string) string {
	n, _ := queues.LoadOrStore(name, new(atomic.Int64))
	return fmt.Sprintf("%s/%d", name, n.(*atomic.Int64).Add(1)-1)
}

// queueMetrics publishes the account as OpenTelemetry metrics. The counters are
// synchronous, so that they keep their values after Shutdown.
type queueMetrics struct {
	status                                 func() Status
	attributes                             metric.MeasurementOption
	exported, retries, duplicates, dropped metric.Int64Counter
	callback                               metric.Registration

	mu   sync.Mutex
	last Status // as counted
}

func newQueueMetrics(name string, status func() Status) (*queueMetrics, error) {
	m := &queueMetrics{status: status, attributes: metric.WithAttributeSet(attribute.NewSet(
		attribute.String("otel.component.name", componentName(name)),
		attribute.String("otel.component.type", name),
	))}
	meter := otel.GetMeterProvider().Meter("github.com/spanprof/spanprof/exporter")
	var errs [7]error
	counter := func(i int, name, description string) (c metric.Int64Counter) {
		c, errs[i] = meter.Int64Counter("spanprof.exporter.profile."+name, metric.WithUnit("{profile}"), metric.WithDescription(description))
		return c
	}
	m.exported = counter(0, "exported", "Profiles that were delivered.")
	m.retries = counter(1, "retries", "Attempts to send a profile after the first.")
	m.duplicates = counter(2, "duplicates", "Exported profiles that the destination may have twice.")
	m.dropped = counter(3, "dropped", "Profiles that were lost, by reason.")
	var length, size metric.Int64ObservableUpDownCounter
	var success metric.Float64ObservableGauge
	length, errs[4] = meter.Int64ObservableUpDownCounter("spanprof.exporter.queue.length", metric.WithUnit("{profile}"),
		metric.WithDescription("Profiles that wait or are being sent."))
	size, errs[5] = meter.Int64ObservableUpDownCounter("spanprof.exporter.queue.size", metric.WithUnit("By"),
		metric.WithDescription("Bytes of the profiles that wait or are being sent."))
	success, errs[6] = meter.Float64ObservableGauge("spanprof.exporter.last_success", metric.WithUnit("s"),
		metric.WithDescription("Unix time of the last delivery."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var err error
	m.callback, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := status()
		o.ObserveInt64(length, int64(s.Waiting), m.attributes)
		o.ObserveInt64(size, s.Bytes, m.attributes)
		if !s.LastSuccess.IsZero() {
			o.ObserveFloat64(success, float64(s.LastSuccess.UnixNano())/1e9, m.attributes)
		}
		return nil
	}, length, size, success)
	return m, err
}

// unregister ends the callback, and waits until ctx ends: the SDK waits for callbacks that
// run, and other callbacks of the program may be slow.
func (m *queueMetrics) unregister(ctx context.Context) {
	if m == nil || m.callback == nil {
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

// observe adds the growth of the account to the counters. It ignores what shrinks: an
// unsent profile may be delivered after all.
func (q *Queue) observe() {
	m := q.metrics
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, last := m.status(), m.last
	m.last = now
	// A background context has no span: a loss is not part of one.
	add := func(c metric.Int64Counter, now, last uint64, opts ...metric.AddOption) {
		if now > last {
			c.Add(context.Background(), int64(now-last), append(opts, m.attributes)...)
		}
	}
	add(m.exported, now.Exported, last.Exported)
	add(m.retries, now.Retries, last.Retries)
	add(m.duplicates, now.Duplicates, last.Duplicates)
	for reason, n := range now.Lost {
		add(m.dropped, n, last.Lost[reason], metric.WithAttributes(attribute.String("reason", reason)))
	}
}

// concluded publishes a change of the account.
func (q *Queue) concluded(dropped bool) {
	q.observe()
	if dropped {
		q.report(errors.New("the queue is full, the oldest profiles are dropped"))
	}
}
