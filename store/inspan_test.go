// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// The label in_span_name selects what spans of a name have together with those below them.
func TestInSpanName(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("test")
	start := func(parent trace.Span, name string) trace.Span {
		_, span := tracer.Start(trace.ContextWithSpan(t.Context(), parent), name, at(0.1))
		span.SetAttributes(attribute.String("pyroscope.profile.id", idOf(span))) // As spans with labels of their own have it.
		return span
	}
	var samples []sample
	cpu := func(span trace.Span, n int64, stack string) {
		samples = append(samples, sample{stack, n, labels("profile_id", idOf(span), "span_id", idOf(span))})
	}
	none := trace.SpanFromContext(t.Context())
	for range 2 {
		root := start(none, "GET /")
		query := start(root, "query")
		parse := start(query, "parse")
		alone := start(none, "parse")
		cpu(root, 1, "main;serve")
		cpu(query, 10, "main;query")
		cpu(parse, 100, "main;parse")
		cpu(alone, 1000, "main;alone")
		for _, span := range []trace.Span{parse, query, root, alone} {
			span.End(at(0.5))
		}
	}
	samples = append(samples, sample{"main;other", 10000, nil})
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))

	for name, want := range map[string]int64{"GET /": 222, "query": 220, "parse": 2200, "none": 0} {
		if got := selectCPU(t, s, matcher(t, "in_span_name", store.MatchEqual, name)).Samples; got != want {
			t.Errorf("in %s: %d samples, want %d", name, got, want)
		}
	}
	in := matcher(t, "in_span_name", store.MatchEqual, "GET /")
	if got := selectCPU(t, s, in, matcher(t, "in_span_name", store.MatchEqual, "parse")).Samples; got != 200 {
		t.Errorf("parse in GET /: %d samples, want 200", got)
	}
	var inclusive int64
	for _, span := range s.Spans(store.SpanQuery{Name: "GET /"}) {
		inclusive += int64(span.CPUInclusive / tick)
	}
	if inclusive != 222 {
		t.Errorf("the spans have %d samples with those below them, want 222", inclusive)
	}
	for op, name := range map[store.MatchOp]string{store.MatchNotEqual: "a", store.MatchRegexp: "a", store.MatchNotRegexp: "a|b", store.MatchEqual: ""} {
		if _, err := store.NewMatcher("in_span_name", op, name); err == nil || !strings.Contains(err.Error(), "by = with the name of a span") {
			t.Errorf("%d %q: error %v", op, name, err)
		}
	}
}
