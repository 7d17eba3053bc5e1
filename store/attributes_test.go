// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// child starts a child with an attribute.
func child(ctx context.Context, tracer trace.Tracer, name, key, value string) (context.Context, trace.Span) {
	return tracer.Start(ctx, name, at(0), trace.WithAttributes(attribute.String(key, value)))
}

// A record has the attributes of its span and of its descendants without a record, by
// order of starts.
func TestAttributes(t *testing.T) {
	s := newStore(t, store.WithSpanAttributes("query"))
	tracer := newTracerProvider(s).Tracer("")
	ctx, root := tracer.Start(t.Context(), "GET /api", at(0))
	ctx, middle := tracer.Start(ctx, "engine", at(0))
	ctx, lower := child(ctx, tracer, "promql", "query", "sum(up)")
	_, again := child(ctx, tracer, "promql", "query", "sum(up)") // shown once
	_, leaf := child(ctx, tracer, "select", "db.query.text", "SELECT a")
	leaf.RecordError(errors.New("refused"), at(0.5))
	leaf.SetStatus(codes.Error, "no connection")
	_, recorded := child(ctx, tracer, "own profile", "query", "recorded itself")
	recorded.SetAttributes(attribute.String("pyroscope.profile.id", idOf(recorded)))
	root.SetAttributes(attribute.String("http.route", "/api"), attribute.String("user", "alice"), attribute.Int("http.response.status_code", 200))
	for _, span := range []trace.Span{leaf, again, recorded, lower, middle} {
		span.End(at(1))
	}
	root.End(at(1))
	got, _ := s.Span(idOf(root))
	want := []store.Attribute{
		{Key: "http.route", Value: "/api"},
		{Key: "http.response.status_code", Value: "200"},
		{Key: "query", Value: "sum(up)", Child: "promql"},
		{Key: "db.query.text", Value: "SELECT a", Child: "select"},
		{Key: "otel.status_description", Value: "no connection", Child: "select"},
		{Key: "exception.type", Value: "*errors.errorString", Child: "select"},
		{Key: "exception.message", Value: "refused", Child: "select"},
	}
	// The children started at one time.
	byChild := func(a, b store.Attribute) int { return strings.Compare(a.Child, b.Child) }
	slices.SortStableFunc(got.Attributes, byChild)
	if diff := cmp.Diff(want, got.Attributes); diff != "" {
		t.Error(diff)
	}

	// A child that ends last still reaches its parent.
	late, other := tracer.Start(t.Context(), "GET /late", at(0))
	_, lateChild := child(late, tracer, "async", "query", "later")
	other.End(at(1))
	lateChild.End(at(2))
	if got, _ := s.Span(idOf(other)); len(got.Attributes) != 1 || got.Attributes[0].Value != "later" {
		t.Errorf("late: %+v", got.Attributes)
	}

	none := newStore(t, store.WithSpanAttributes("query"), store.WithoutSpanAttributes())
	_, span := child(t.Context(), newTracerProvider(none).Tracer(""), "GET /", "query", "up")
	span.SetStatus(codes.Error, "kept")
	span.End(at(1))
	if got, _ := none.Span(idOf(span)); got.Attributes != nil || got.Status != "kept" {
		t.Errorf("left out: %+v", got)
	}
}

func TestAttributeOptions(t *testing.T) {
	if _, err := store.New(store.WithSpanAttributes(make([]string, 65)...)); err == nil || !strings.Contains(err.Error(), "WithSpanAttributes") {
		t.Errorf("65 keys: %v", err)
	}
}

// Conditions on attributes select spans, and the samples of spans. One of the queries is on a child
// without a record.
func TestAttributeMatchers(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	queries := map[string]string{"0": "", "1": "a", "2": "b", "3": "Ab"}
	samples := []sample{{"7", 1, nil}, {"8", 1, labels("profile_id", "job")}}
	for name, query := range queries {
		ctx, root := tracer.Start(t.Context(), name, at(0))
		if query == "a" {
			root.SetAttributes(attribute.String("db.statement", query))
		} else if query != "" {
			_, span := child(ctx, tracer, "query", "db.statement", query)
			span.End(at(1))
		}
		root.End(at(1))
		samples = append(samples, sample{name, 1, labels("profile_id", idOf(root), "span_id", idOf(root))})
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	names := func(q store.SpanQuery) string {
		var names []string
		for _, span := range s.Spans(q) {
			if !span.Manual {
				names = append(names, span.Name)
			}
		}
		slices.Sort(names)
		return strings.Join(names, "")
	}
	const label = "span.db.statement"
	for _, test := range []matched{
		{label, store.MatchEqual, "a", "1"},
		{label, store.MatchEqual, "c", ""},
		{label, store.MatchEqual, "", "0"},
		{label, store.MatchNotEqual, "a", "023"},
		{label, store.MatchRegexp, "a|b", "12"},
		{label, store.MatchRegexp, "(?i)a.*", "13"},
		{label, store.MatchNotRegexp, ".*b", "01"},
	} {
		test.check(t, s)
		if got := names(store.SpanQuery{Attributes: []store.Matcher{matcher(t, label, test.op, test.value)}}); got != test.want {
			t.Errorf("%+v: spans %s", test, got)
		}
	}
	// Both at once, and with a label.
	if got := folded(selectCPU(t, s, matcher(t, label, store.MatchNotEqual, ""), matcher(t, label, store.MatchNotEqual, "a"), matcher(t, "profile_id", store.MatchNotEqual, "none"))); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	for text, want := range map[string]string{"AB": "3", "nothing": "", "b": "23"} {
		if got := names(store.SpanQuery{Contains: text}); got != want {
			t.Errorf("%s contain %q, want %s", got, text, want)
		}
	}
}

// In all-spans scope a request is one span of the list, with what is below it.
func TestRequests(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	var roots, leaves []string
	var samples []sample
	for i := range 3 {
		route := fmt.Sprint("r", i)
		ctx, root := child(t.Context(), tracer, "GET /", "http.route", route)
		below, first := tracer.Start(ctx, "first", at(0))
		_, grandchild := child(below, tracer, "query", "db.query.text", "of "+route)
		_, second := tracer.Start(ctx, "second", at(0))
		for k, span := range []trace.Span{grandchild, second, first, root} {
			span.SetAttributes(attribute.String("pyroscope.profile.id", idOf(span)))
			span.End(at(float64(4-i) - float64(k)/1000))
			samples = append(samples, sample{"main;of_" + route, int64(1 + k), labels("profile_id", idOf(span), "span_id", idOf(span))})
		}
		roots, leaves = append(roots, idOf(root)), append(leaves, idOf(grandchild))
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	for _, test := range []struct {
		q    store.SpanQuery
		want string
	}{
		{store.SpanQuery{Requests: true, Order: store.Slowest}, "GET / r0 +3, GET / r1 +3, GET / r2 +3"},
		{store.SpanQuery{Requests: true, Order: store.Slowest, Limit: 1}, "GET / r0 +3"},
		{store.SpanQuery{Order: store.Slowest, Limit: 1}, "query of r0"},
		// A span that matches by itself is listed.
		{store.SpanQuery{Requests: true, Name: "first", Order: store.Slowest, Limit: 1}, "first of r0 +1"},
		{store.SpanQuery{Requests: true, Contains: "of r1"}, "query of r1"},
		{store.SpanQuery{Below: roots[1], Order: store.Slowest}, "query of r1, second, first"},
		{store.SpanQuery{Below: leaves[1]}, ""},
		{store.SpanQuery{Below: "0000000000000000"}, ""},
		{store.SpanQuery{Below: "no id"}, ""},
	} {
		var got []string
		for _, span := range s.Spans(test.q) {
			text := span.Name
			if len(span.Attributes) > 0 {
				text += " " + span.Attributes[0].Value
			}
			if span.Below > 0 {
				text += fmt.Sprint(" +", span.Below)
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%+v: got %q, want %s", test.q, got, test.want)
		}
	}
	request := s.Spans(store.SpanQuery{Requests: true, Order: store.Slowest, Limit: 1})[0]
	if len(request.Attributes) != 2 || request.Attributes[1].Child != "query" || request.CPU != 4*tick || request.CPUInclusive != 10*tick {
		t.Errorf("%+v", request)
	}
	// A span has the attributes of its own alone.
	if got := selectCPU(t, s, matcher(t, "span.http.route", store.MatchEqual, "r1")).Samples; got != 4 {
		t.Errorf("a route has %d samples, want 4", got)
	}
	if _, err := openView(t, s).Spans(store.SpanQuery{Limit: -1}); err == nil {
		t.Error("a negative limit is no error")
	}
}
