// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// counter is something that is counted.
type counter int

const (
	slowSpans counter = iota
	// What became of slow spans.
	stored
	olderThanWindow
	readTooLate
	notInTrace
	tooSoon
	tooMany
	overBudget
	notRecording
	unreadable
	noRecord
	// What happened to the recorder.
	readings
	pauses
	foreignStops
	secondRecorders
	cutNames
	writeFailures
	parseErrors
	unknownFormats
	panics
	cutThreads
	counters

	countless counter = -1
)

// counterTexts have the value of the metric's attribute, "" for the sum, and what the page
// shows.
var counterTexts = [counters]struct{ value, text string }{
	slowSpans:       {"", "slow spans"},
	stored:          {"stored", "spans with exact times"},
	olderThanWindow: {"older_than_window", "slow spans that began before the window"},
	readTooLate:     {"read_too_late", "slow spans whose start had left the recording when it was read"},
	notInTrace:      {"not_in_trace", "slow spans that are not in the trace"},
	tooSoon:         {"too_soon", "slow spans within 10 s of a reading"},
	tooMany:         {"too_many", "slow spans beyond 64 that waited"},
	overBudget:      {"over_budget", "slow spans not read for the budget"},
	notRecording:    {"not_recording", "slow spans not recorded, or lost with the recording"},
	unreadable:      {"unreadable", "slow spans in recordings that could not be read, or not to their end"},
	noRecord:        {"no_record", "slow spans that the store does not keep or has no room for"},
	readings:        {"reading", "recordings read"},
	pauses:          {"pause", "pauses for the budget"},
	foreignStops:    {"foreign_stop", "recordings ended by a foreign trace.Stop"},
	secondRecorders: {"second_recorder", "starts refused for another flight recorder"},
	cutNames:        {"cut_name", "span names cut as Go before 1.27 dies of long ones"},
	writeFailures:   {"write_failure", "recordings that could not be written"},
	parseErrors:     {"parse_error", "recordings that are damaged"},
	unknownFormats:  {"unknown_format", "recordings of an unknown format"},
	panics:          {"panic", "panics while reading"},
	cutThreads:      {"cut_threads", "readings of threads without room for the oldest"},
}

// accounts are the values of the counters, here and as metrics.
type accounts struct {
	values        [counters]atomic.Uint64
	spans, events metric.Int64Counter
	sets          [counters]metric.MeasurementOption
}

func newAccounts(p metric.MeterProvider) (*accounts, error) {
	meter := p.Meter("github.com/spanprof/spanprof/exectrace")
	spans, err := meter.Int64Counter("spanprof.exectrace.span", metric.WithUnit("{span}"), metric.WithDescription("Slow spans, by whether they got exact times."))
	if err != nil {
		return nil, fmt.Errorf("exectrace: metrics: %w", err)
	}
	events, err := meter.Int64Counter("spanprof.exectrace.event", metric.WithUnit("{event}"), metric.WithDescription("What happened to the recorder of execution traces."))
	if err != nil {
		return nil, fmt.Errorf("exectrace: metrics: %w", err)
	}
	a := &accounts{spans: spans, events: events}
	for c := stored; c < counters; c++ {
		key := attribute.Key("outcome")
		if c >= readings {
			key = "event"
		}
		a.sets[c] = metric.WithAttributeSet(attribute.NewSet(key.String(counterTexts[c].value)))
	}
	return a, nil
}

func (a *accounts) count(c counter, n int) {
	if n <= 0 {
		return
	}
	a.values[c].Add(uint64(n))
	switch ctx := context.Background(); { // of no span: it is nobody's work
	case c >= readings:
		a.events.Add(ctx, int64(n), a.sets[c])
	case c >= stored:
		a.spans.Add(ctx, int64(n), a.sets[c])
	}
}

// Counters tells what the Recorder has done and what it lost, as the page of package
// inprocess shows it: give it to Profiling.AddCounters. Each slow span is in one of the
// counters after the first, once it is known what became of it.
func (r *Recorder) Counters() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		recording := uint64(0)
		if r.Status().State == Recording {
			recording = 1
		}
		if !yield("exact times: recording now", recording) {
			return
		}
		for c := range counters {
			if !yield("exact times: "+counterTexts[c].text, r.accounts.values[c].Load()) {
				return
			}
		}
	}
}
