// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// Times that nanoseconds since 1970 cannot tell are the nearest that they can.
func TestTimesOutOfRange(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	for name, times := range map[string][2]time.Time{
		"before":  {time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)},
		"after":   {time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 2, 0, 0, 0, 0, time.UTC)},
		"across":  {time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
		"of 2026": {epoch, epoch.Add(step)},
	} {
		_, span := tracer.Start(t.Context(), name, trace.WithTimestamp(times[0]))
		span.End(trace.WithTimestamp(times[1]))
	}
	window := exporter.Window{Kind: exporter.KindCPU, Start: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), Duration: step, Resource: checkout}
	export(t, s, exporter.NewParsedProfile(window, cpuProfile(sample{"f", 1, nil})))
	for _, q := range []store.SpanQuery{{}, {Order: store.Slowest}, {From: time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		spans := s.Spans(q)
		if len(spans) != 4 {
			t.Errorf("%+v selects %d of 4 spans", q, len(spans))
		}
		for _, span := range spans {
			if span.Duration < 0 {
				t.Errorf("%s took %s", span.Name, span.Duration)
			}
			if _, err := json.Marshal(span.Start); err != nil {
				t.Errorf("%s: %v", span.Name, err)
			}
		}
	}
	// No duration is longer than 292 years: the one across ends before.
	if got := s.Spans(store.SpanQuery{From: epoch, Until: epoch.Add(step)}); len(got) != 1 || got[0].Name != "of 2026" {
		t.Errorf("%+v overlap 2026", got)
	}
}

// A profile_id may be a running child's, beside the span_id of a span below it. Then the samples
// count for both spans, and once in inclusive CPU.
func TestProfileOfRunningChild(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	ctx, root := tracer.Start(t.Context(), "GET /", at(0))
	ctx, running := tracer.Start(ctx, "running", at(0))
	_, other := tracer.Start(ctx, "other", at(0))
	for _, span := range []trace.Span{running, other} {
		span.SetAttributes(attribute.String("pyroscope.profile.id", idOf(span)))
	}
	other.End(at(0.5))
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(
		sample{"f", 3, labels("profile_id", idOf(running), "span_id", idOf(other))},
		sample{"f", 1, labels("profile_id", idOf(running), "span_id", idOf(running))},
	)))
	running.End(at(1))
	root.End(at(1))
	for span, want := range map[trace.Span][2]time.Duration{root: {0, 4 * tick}, running: {4 * tick, 4 * tick}, other: {3 * tick, 3 * tick}} {
		got, _ := s.Span(idOf(span))
		if got.CPU != want[0] || got.CPUInclusive != want[1] {
			t.Errorf("%s: %s and %s, want %s and %s", got.Name, got.CPU, got.CPUInclusive, want[0], want[1])
		}
	}
}
