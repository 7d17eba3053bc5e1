// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"cmp"
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Status counts what a Receiver has taken.
type Status struct {
	// Messages were received. Refused of them are too large, decoded or not, or break
	// the format's rules. Failed could not be exported.
	Messages, Refused, Failed int
	// Reason is why the last refused message was refused, "" if there is none.
	Reason string
	// First, Witnessed and Placed are samples of this process that are on their spans
	// for certain: as the first of their record, by the labels of an agent that
	// separates records by labels, and by timelines.
	First, Witnessed, Placed int
	// Ambiguous are samples of this process that may belong to any span.
	Ambiguous int
	// Spanless are samples of programs without any label so far: they are of no span.
	Spanless int
	// LabelsLost are samples with as many labels as an agent keeps, and without the
	// labels of a span. The agent may have dropped them.
	LabelsLost int
	// Other are profiles of this process that are not of CPU time or waiting.
	Other int
	// Lost are samples that hostview had for this process and lost, because
	// [Receiver.Subscribe] did not take them in time.
	Lost int
	// RefusedAgents are connections of users that may not send: see [Listen].
	RefusedAgents int
}

// Status returns what has been counted since New.
func (r *Receiver) Status() Status {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	return r.status
}

func (r *Receiver) count(more Status) {
	r.metrics.add(more)
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	for _, c := range counts {
		*c.of(&r.status) += *c.of(&more)
	}
	r.status.Reason = cmp.Or(more.Reason, r.status.Reason)
}

// refuse counts and reports a refused message or connection.
func (r *Receiver) refuse(more Status, err error) {
	r.count(more)
	r.reports.Report(err)
}

// scope is the instrumentation scope of the metrics.
const scope = "github.com/spanprof/spanprof/ebpfbridge/receiver"

// count is a number of Status.
type count struct {
	words, metric, unit, description string
	// attribution is that attribute of the metric, "" for none.
	attribution string
	of          func(*Status) *int
}

const ofSamples = "Samples of this process, by how they were given to spans."

var counts = [...]count{
	{"agent: messages", "message.received", "{message}", "OTLP messages of agents.", "", func(s *Status) *int { return &s.Messages }},
	{"agent: messages refused", "message.refused", "{message}", "Messages that are too large or break the format's rules.", "", func(s *Status) *int { return &s.Refused }},
	{"agent: samples certain, first of their record", "sample.received", "{sample}", ofSamples, "first", func(s *Status) *int { return &s.First }},
	{"agent: samples certain by labels or Link", "sample.received", "{sample}", ofSamples, "witnessed", func(s *Status) *int { return &s.Witnessed }},
	{"agent: samples certain by timelines", "sample.received", "{sample}", ofSamples, "placed", func(s *Status) *int { return &s.Placed }},
	{"agent: samples ambiguous", "sample.received", "{sample}", ofSamples, "ambiguous", func(s *Status) *int { return &s.Ambiguous }},
	{"agent: samples without any label so far", "sample.received", "{sample}", ofSamples, "spanless", func(s *Status) *int { return &s.Spanless }},
	{"agent: samples that may have lost labels", "sample.labels_lost", "{sample}", "Samples with as many labels as an agent keeps, and without the labels of a span.", "", func(s *Status) *int { return &s.LabelsLost }},
	{"agent: profiles of other kinds", "profile.other", "{profile}", "Profiles of this process that are not of CPU time or waiting.", "", func(s *Status) *int { return &s.Other }},
	{"agent: samples lost by hostview", "sample.lost", "{sample}", "Samples of this process that hostview had and lost, because the process did not read in time.", "", func(s *Status) *int { return &s.Lost }},
	{"agent: profiles not exported", "profile.failed", "{profile}", "Profiles that the exporter returned an error for.", "", func(s *Status) *int { return &s.Failed }},
	{"agent: connections refused", "connection.refused", "{connection}", "Connections of users that may not send.", "", func(s *Status) *int { return &s.RefusedAgents }},
}

// Counters yields the numbers of Status with names for people, as the page of package
// inprocess shows them:
//
//	profiling.AddCounters(r.Counters)
func (r *Receiver) Counters(yield func(name string, n uint64) bool) {
	s := r.Status()
	for _, c := range counts {
		if !yield(c.words, uint64(*c.of(&s))) {
			return
		}
	}
}

// metrics has the numbers of Status as OTel metrics.
type metrics struct {
	ctx        context.Context // without a span: what an agent sends is part of none
	counters   [len(counts)]metric.Int64Counter
	attributes [len(counts)]metric.MeasurementOption
}

func newMetrics(p metric.MeterProvider) (*metrics, error) {
	meter := p.Meter(scope)
	m := &metrics{ctx: context.Background()}
	for i, c := range counts {
		var attributes []attribute.KeyValue
		if c.attribution != "" {
			attributes = append(attributes, attribute.String("attribution", c.attribution))
		}
		m.attributes[i] = metric.WithAttributeSet(attribute.NewSet(attributes...))
		var err error
		m.counters[i], err = meter.Int64Counter("spanprof.receiver."+c.metric, metric.WithUnit(c.unit), metric.WithDescription(c.description))
		if err != nil {
			return nil, fmt.Errorf("receiver: %w", err)
		}
	}
	return m, nil
}

// add adds what a message has brought.
func (m *metrics) add(more Status) {
	for i, c := range counts {
		if n := *c.of(&more); n > 0 {
			m.counters[i].Add(m.ctx, int64(n), m.attributes[i])
		}
	}
}
