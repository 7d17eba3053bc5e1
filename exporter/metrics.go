// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// queueMetrics publishes the account as OpenTelemetry metrics. The counters are
// synchronous, so that they keep their values after Shutdown.
type queueMetrics struct {
	attributes                             metric.MeasurementOption
	exported, retries, duplicates, dropped metric.Int64Counter

	mu   sync.Mutex
	last Status // as counted
}

func newQueueMetrics(name string) (*queueMetrics, error) {
	m := &queueMetrics{attributes: metric.WithAttributes(attribute.String("otel.component.type", name))}
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
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
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
