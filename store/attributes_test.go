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
	if got, _ := s.Span(idOf(recorded)); len(got.Attributes) != 1 || got.Attributes[0].Child != "" {
		t.Errorf("recorded child: %+v", got.Attributes)
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
	for _, keys := range [][]string{make([]string, 65)} {
		if _, err := store.New(store.WithSpanAttributes(keys...)); err == nil || !strings.Contains(err.Error(), "WithSpanAttributes") {
			t.Errorf("%.3q: %v", keys, err)
		}
	}
}

// fillQueries adds local roots with samples and one of three queries each. One query is on a
// child without a record.
func fillQueries(t *testing.T, s *store.Store) (ids map[string][]string) {
	t.Helper()
	tracer := newTracerProvider(s).Tracer("")
	ids = map[string][]string{}
	var samples []sample
	for i := range 12 {
		ctx, root := tracer.Start(t.Context(), "GET /", at(0))
		query := []string{"", "a", "b", "Ab"}[i%4]
		switch query {
		case "":
		case "a":
			root.SetAttributes(attribute.String("db.statement", query))
		default:
			_, span := child(ctx, tracer, "query", "db.statement", query)
			span.End(at(1))
		}
		root.End(at(1 + float64(i)/100))
		ids[query] = append(ids[query], idOf(root))
		samples = append(samples, sample{"main;of_" + query, int64(1 + i), labels("profile_id", idOf(root), "span_id", idOf(root))})
	}
	samples = append(samples, sample{"main;background", 100, nil}, sample{"main;exemplar", 50, labels("profile_id", "job")})
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	return ids
}

// Conditions on attributes select spans, and the samples of spans.
func TestAttributeMatchers(t *testing.T) {
	s := newStore(t)
	ids := fillQueries(t, s)
	for _, tt := range []struct {
		op     store.MatchOp
		value  string
		wanted []string
	}{
		{store.MatchEqual, "a", []string{"a"}},
		{store.MatchEqual, "c", nil},
		{store.MatchEqual, "", []string{""}},
		{store.MatchNotEqual, "a", []string{"", "b", "Ab"}},
		{store.MatchRegexp, "a|b", []string{"a", "b"}},
		{store.MatchRegexp, "(?i)a.*", []string{"a", "Ab"}},
		{store.MatchNotRegexp, ".*b", []string{"", "a"}},
	} {
		m := matcher(t, "span.db.statement", tt.op, tt.value)
		var want, got []string
		var stacks []string
		for _, query := range tt.wanted {
			want = append(want, ids[query]...)
			total := 0
			for i := range 12 {
				if []string{"", "a", "b", "Ab"}[i%4] == query {
					total += (1 + i) * int(tick)
				}
			}
			stacks = append(stacks, fmt.Sprintf("main;of_%s %d", query, total))
		}
		for _, span := range s.Spans(store.SpanQuery{Attributes: []store.Matcher{m}}) {
			got = append(got, span.ProfileID)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v %q: got %q, want %q", tt.op, tt.value, got, want)
		}
		slices.Sort(stacks)
		if diff := cmp.Diff(stacks, folded(selectCPU(t, s, m))); diff != "" {
			t.Errorf("%v %q: %s", tt.op, tt.value, diff)
		}
	}
	// Both at once, and with a label.
	if got := folded(selectCPU(t, s, matcher(t, "span.db.statement", store.MatchNotEqual, ""), matcher(t, "span.db.statement", store.MatchNotEqual, "a"), matcher(t, "profile_id", store.MatchEqual, ids["b"][0]))); !slices.Equal(got, []string{fmt.Sprintf("main;of_b %d", 3*tick)}) {
		t.Errorf("got %q", got)
	}
	for text, want := range map[string]int{"AB": 3, "get": 12, "nothing": 0, "b": 6} {
		if got := s.Spans(store.SpanQuery{Contains: text}); len(got) != want {
			t.Errorf("%d spans contain %q, want %d", len(got), text, want)
		}
	}
}

// inAllSpans makes a request in all-spans scope: a root, two children and a grandchild,
// each with CPU time of its own. It returns their ids.
func inAllSpans(t *testing.T, tracer trace.Tracer, route string, length float64) (ids []string, samples []sample) {
	t.Helper()
	ctx, root := child(t.Context(), tracer, "GET /", "http.route", route)
	below, first := tracer.Start(ctx, "first", at(0))
	_, grandchild := child(below, tracer, "query", "db.query.text", "of "+route)
	_, second := tracer.Start(ctx, "second", at(0))
	for i, span := range []trace.Span{grandchild, second, first, root} {
		span.SetAttributes(attribute.String("pyroscope.profile.id", idOf(span)))
		span.End(at(length - float64(i)/1000))
		ids = append(ids, idOf(span))
		samples = append(samples, sample{"main;of_" + route, int64(1 + i), labels("profile_id", idOf(span), "span_id", idOf(span))})
	}
	return ids, samples
}

// In all-spans scope a request is one span of the list, with what is below it.
func TestRequests(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	var roots, all []string
	var samples []sample
	for i := range 3 {
		ids, more := inAllSpans(t, tracer, fmt.Sprint("r", i), 1+float64(i))
		roots, all, samples = append(roots, ids[3]), append(all, ids...), append(samples, more...)
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	slices.Reverse(roots)
	names := func(q store.SpanQuery) (ids []string) {
		q.Requests = true
		for _, span := range s.Spans(q) {
			ids = append(ids, span.ProfileID)
		}
		return ids
	}
	if got := names(store.SpanQuery{Order: store.Slowest}); !slices.Equal(got, roots) {
		t.Errorf("got %q, want %q", got, roots)
	}
	if got := names(store.SpanQuery{Order: store.Slowest, Limit: 2}); !slices.Equal(got, roots[:2]) {
		t.Errorf("got %q, want %q", got, roots[:2])
	}
	if got := s.Spans(store.SpanQuery{}); len(got) != len(all) || got[0].Below != 0 {
		t.Errorf("%d spans without Requests", len(got))
	}
	request := s.Spans(store.SpanQuery{Requests: true, Order: store.Slowest, Limit: 1})[0]
	if request.Below != 3 || request.CPU != 4*tick || request.CPUInclusive != 10*tick {
		t.Errorf("%+v", request)
	}
	want := []store.Attribute{{Key: "http.route", Value: "r2"}, {Key: "db.query.text", Value: "of r2", Child: "query"}}
	if diff := cmp.Diff(want, request.Attributes); diff != "" {
		t.Error(diff)
	}
	// A span that matches by itself is listed.
	if got := s.Spans(store.SpanQuery{Requests: true, Name: "first", Order: store.Slowest}); len(got) != 3 || got[0].Below != 1 {
		t.Errorf("by name: %+v", got)
	}
	if got := s.Spans(store.SpanQuery{Requests: true, Contains: "of r1"}); len(got) != 1 || got[0].Name != "query" {
		t.Errorf("by attribute: %+v", got)
	}
	if got := s.Spans(store.SpanQuery{Below: roots[0]}); len(got) != 3 {
		t.Errorf("below: %+v", got)
	}
	for _, id := range []string{"0000000000000000", "no id", all[0]} {
		if got := s.Spans(store.SpanQuery{Below: id}); len(got) != 0 {
			t.Errorf("below %q: %+v", id, got)
		}
	}
	// A span has the attributes of its own alone.
	if got, want := selectCPU(t, s, matcher(t, "span.http.route", store.MatchEqual, "r1")).Total, int64(4*tick); got != want {
		t.Errorf("route r1: %d, want %d", got, want)
	}
	if got, want := selectCPU(t, s, matcher(t, "span.http.route", store.MatchNotEqual, "r1")).Total, int64(26*tick); got != want {
		t.Errorf("other routes: %d, want %d", got, want)
	}
	if got, want := selectCPU(t, s, matcher(t, "span.db.query.text", store.MatchEqual, "of r1")).Total, int64(tick); got != want {
		t.Errorf("query: %d, want %d", got, want)
	}
	if _, err := openView(t, s).Spans(store.SpanQuery{Limit: -1}); err == nil {
		t.Error("a negative limit is no error")
	}
}
