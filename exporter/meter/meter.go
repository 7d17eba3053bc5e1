// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package meter counts the CPU seconds of spans as an OpenTelemetry metric: the cost of an
// endpoint, and of a tenant.
//
//	m, err := meter.New("tenant")
//	p, err := inprocess.Start(tp, inprocess.WithExporter(m))
//
// The counter spanprof.cpu.time has the unit s and these attributes:
//
//	service.name  the service of the profile's resource
//	span_name     the name of the local root, or of the span in all-spans scope
//	tenant        each label that New names
//
// CPU time of no span has no span_name. The sum of all series is the sampled CPU time of
// the process. A series of n samples has a standard error of 1/√n: 10 % at one CPU second.
//
// Spans have a label tenant if the work runs under pprof.Do with it:
//
//	pprof.Do(ctx, pprof.Labels("tenant", tenant), func(ctx context.Context) { ... })
//
// In PromQL, with the names of OpenTelemetry's Prometheus exporter:
//
//	sum by (span_name) (rate(spanprof_cpu_time_seconds_total[5m]))              # cores per endpoint
//	topk(10, sum by (tenant) (increase(spanprof_cpu_time_seconds_total[1d])))   # CPU seconds per tenant
//	sum(rate(spanprof_cpu_time_seconds_total{span_name=""}[5m]))                # cores that no span explains
package meter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
)

const (
	maxLabels = 2
	// maxSeries bounds the series. OpenTelemetry's SDK adds those beyond 1,999 to one without
	// attributes, by default.
	maxSeries = 1999
	// reserved is how many of them the value "other" may have: one for each span name.
	reserved = 299
	// maxValue bounds a label's value, in bytes.
	maxValue = 128
	// other is the value of a label beyond the bounds.
	other = "other"
)

// series is the attributes of a data point.
type series struct {
	service, span string
	labels        [maxLabels]string
}

type meter struct {
	labels []string
	time   metric.Float64Counter

	mu       sync.Mutex
	known    map[series]metric.MeasurementOption
	shutdown bool
}

// New returns an exporter that adds the samples of CPU profiles to the counter
// spanprof.cpu.time. labels has the keys of at most two goroutine labels. The counter is of the
// global MeterProvider. Profiles of other kinds are ignored.
//
// There are at most 1,999 series, as many as OpenTelemetry's SDK takes by default. A new one
// beyond 1,700 has the value "other" for each label, and near the end for span_name too. A
// value of more than 128 bytes, or not in UTF-8, is "other" too.
//
// The exporter is safe for concurrent use. It sends nothing: the MeterProvider's reader does.
func New(labels ...string) (exporter.Exporter, error) {
	if len(labels) > maxLabels {
		return nil, fmt.Errorf("meter: %d labels, but a metric by more than %d has too many series", len(labels), maxLabels)
	}
	for _, key := range labels {
		switch key {
		case "", labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID, labelkey.EndedSpanID:
			return nil, fmt.Errorf("meter: label %q: an id makes a series for each span", key)
		case labelkey.SpanName:
			return nil, errors.New("meter: label span_name is there already")
		}
	}
	time, err := otel.GetMeterProvider().Meter("github.com/spanprof/spanprof/exporter/meter").Float64Counter("spanprof.cpu.time",
		metric.WithUnit("s"), metric.WithDescription("Sampled CPU time by span name; without one, of no span."))
	if err != nil {
		return nil, err
	}
	return &meter{labels: slices.Clone(labels), time: time, known: make(map[series]metric.MeasurementOption)}, nil
}

func (m *meter) Export(ctx context.Context, p *exporter.Profile) error {
	if p.Kind() != exporter.KindCPU {
		return nil
	}
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	column := nanoseconds(parsed)
	if column < 0 {
		return errors.New("meter: the CPU profile has no column in nanoseconds")
	}
	service, _ := p.Resource().Set().Value("service.name")
	sums := make(map[series]int64)
	for _, s := range parsed.Sample {
		of := series{service: service.AsString(), span: label(s, labelkey.SpanName)}
		for i, key := range m.labels {
			of.labels[i] = label(s, key)
		}
		sums[of] += s.Value[column]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shutdown {
		return exporter.ErrShutdown
	}
	for of, ns := range sums {
		m.time.Add(ctx, float64(ns)/1e9, m.attributes(of))
	}
	return nil
}

// attributes returns the attributes of a series. The caller holds m.mu.
func (m *meter) attributes(of series) metric.MeasurementOption {
	if _, ok := m.known[of]; !ok && len(m.known) >= maxSeries-reserved {
		for i := range m.labels {
			of.labels[i] = other
		}
	}
	if _, ok := m.known[of]; !ok && len(m.known) >= maxSeries-1 {
		of.span = other
	}
	if known, ok := m.known[of]; ok {
		return known
	}
	var kvs []attribute.KeyValue
	add := func(key, value string) {
		if value != "" {
			kvs = append(kvs, attribute.String(key, value))
		}
	}
	add("service.name", of.service)
	add(labelkey.SpanName, of.span)
	for i, key := range m.labels {
		add(key, of.labels[i])
	}
	option := metric.WithAttributeSet(attribute.NewSet(kvs...))
	m.known[of] = option
	return option
}

// nanoseconds returns the index of the column of CPU time, -1 if there is none.
func nanoseconds(p *profile.Profile) int {
	for i, t := range p.SampleType {
		if t.Type == "cpu" && t.Unit == "nanoseconds" {
			return i
		}
	}
	return -1
}

// label returns the value of a label, "" without one. OTLP refuses metrics that are not in UTF-8.
func label(s *profile.Sample, key string) string {
	switch values := s.Label[key]; {
	case len(values) == 0:
		return ""
	case len(values[0]) > maxValue || !utf8.ValidString(values[0]):
		return other
	default:
		return values[0]
	}
}

func (m *meter) ForceFlush(context.Context) error { return nil }

func (m *meter) Shutdown(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shutdown = true
	return nil
}
