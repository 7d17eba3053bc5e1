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
)

// queues counts the queues of each name.
var queues sync.Map // of string to *atomic.Int64

// componentName returns the name with a number, as OpenTelemetry's semantic conventions
// propose: pyroscope/0. Otherwise two queues with one name would add up.
func componentName(name string) string {
	n, _ := queues.LoadOrStore(name, new(atomic.Int64))
	return fmt.Sprintf("%s/%d", name, n.(*atomic.Int64).Add(1)-1)
}

// queueMetrics publishes the account as OpenTelemetry metrics. The instruments are
// synchronous, so that they keep their values after Shutdown.
type queueMetrics struct {
	attributes                             metric.MeasurementOption
	exported, retries, duplicates, dropped metric.Int64Counter
	waiting                                metric.Int64UpDownCounter

	mu   sync.Mutex
	last Status // as counted
}

func newQueueMetrics(name string) (*queueMetrics, error) {
	m := &queueMetrics{attributes: metric.WithAttributes(
		attribute.String("otel.component.name", componentName(name)),
		attribute.String("otel.component.type", name),
	)}
	meter := otel.GetMeterProvider().Meter("github.com/spanprof/spanprof/exporter")
	var errs []error
	counter := func(name, description string) metric.Int64Counter {
		c, err := meter.Int64Counter("spanprof.exporter.profile."+name, metric.WithUnit("{profile}"), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	m.exported = counter("exported", "Profiles that were delivered.")
	m.retries = counter("retries", "Attempts to send a profile after the first.")
	m.duplicates = counter("duplicates", "Exported profiles that the destination may have twice.")
	m.dropped = counter("dropped", "Profiles that were lost, by reason.")
	var err error
	m.waiting, err = meter.Int64UpDownCounter("spanprof.exporter.queue.length", metric.WithUnit("{profile}"),
		metric.WithDescription("Profiles that wait or are being sent."))
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return m, nil
}

// observe adds the growth of the account to the counters. Counters ignore what shrinks:
// an unsent profile may be delivered after all.
func (q *Queue) observe() {
	m := q.metrics
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, last := q.Status(), m.last
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
	if waiting := now.Waiting - last.Waiting; waiting != 0 {
		m.waiting.Add(context.Background(), int64(waiting), m.attributes)
	}
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
