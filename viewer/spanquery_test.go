// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func TestFilters(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for _, test := range []struct {
		params []string
		want   []string
	}{
		{[]string{"filter", "SEARCH"}, []string{slowID, fastID, shortID}},
		{[]string{"filter", "search", "min", "1ms"}, []string{slowID, fastID}},
		{[]string{"error", "true"}, []string{evilID}},
		{[]string{"error", "false", "name", "GET /late"}, []string{openID}},
		{[]string{"trace", "010000000000000000000000000000a2"}, []string{fastID}},
		{[]string{"service", "other"}, nil},
		{[]string{"min", "1ns", "from", "1793534404"}, []string{openID, evilID}},
		{[]string{"min", "1ns", "until", "1793534401"}, []string{slowID}},
	} {
		var list answer.SpanList
		getJSON(t, h, target("/", append(test.params, "order", "slowest", "format", "json")...), http.StatusOK, &list)
		var got []string
		for _, s := range list.Spans {
			got = append(got, s.ProfileID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.params, got, test.want)
		}
	}
}

// Spans have a kind in lists where spans of their name have several.
func TestSpanKinds(t *testing.T) {
	s := newTestStore(t)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
	for kind, name := range map[trace.SpanKind]string{trace.SpanKindClient: "GET", trace.SpanKindServer: "GET", trace.SpanKindProducer: "send"} {
		_, span := tracer.Start(t.Context(), name, trace.WithSpanKind(kind))
		span.End()
	}
	h := viewer.Handler(s)
	var list answer.SpanList
	getJSON(t, h, "/?format=json", http.StatusOK, &list)
	got := make(map[string]int)
	for _, s := range list.Spans {
		got[s.Name+" "+s.Kind]++
	}
	for of, n := range map[string]int{"GET client": 1, "GET server": 1, "send ": 1, "GET /search ": 3} {
		if got[of] != n {
			t.Errorf("%q: %d, want %d of %v", of, got[of], n, got)
		}
	}
	if text := get(t, h, "/?format=text").Body.String(); !strings.Contains(text, "GET [client]") || !strings.Contains(text, "GET [server]") {
		t.Error(text)
	}
}

func TestSpansOfATrace(t *testing.T) {
	s := newTestStore(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor()))
	tracer := tp.Tracer("test")
	ctx, root := tracer.Start(t.Context(), "root")
	_, child := tracer.Start(ctx, "child")
	child.SetAttributes(attribute.String("pyroscope.profile.id", child.SpanContext().SpanID().String()))
	child.End()
	root.End()
	h := viewer.Handler(s)
	var a answer.Profile
	getJSON(t, h, target("/", "query", byID(root.SpanContext().SpanID().String()), "format", "json"), http.StatusOK, &a)
	if len(a.Trace) != 2 || a.Trace[0].Name != "root" || a.Trace[1].Name != "child" {
		t.Errorf("trace %+v", a.Trace)
	}
	// A span that is alone in its trace has no list.
	a = answer.Profile{}
	getJSON(t, h, target("/", "query", byID(slowID), "format", "json"), http.StatusOK, &a)
	if a.Trace != nil {
		t.Errorf("trace %+v", a.Trace)
	}
}

// A span that has not ended is in the list, marked as running.
func TestRunningSpan(t *testing.T) {
	s := newTestStore(t)
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())))
	_, span := tp.Tracer("test").Start(t.Context(), "nightly report")
	defer span.End()
	h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true} }))
	var list answer.SpanList
	getJSON(t, h, target("/", "format", "json", "name", "nightly report"), http.StatusOK, &list)
	if len(list.Spans) != 1 || !list.Spans[0].Running || list.Spans[0].Complete {
		t.Fatalf("spans %+v", list.Spans)
	}
	if text := get(t, h, "/?format=text").Body.String(); !strings.Contains(text, "nightly report [running]") {
		t.Errorf("the list is\n%s", text)
	}
	var a answer.Profile
	getJSON(t, h, target("/", "query", list.Spans[0].Query, "format", "json"), http.StatusOK, &a)
	if !a.Waiting || !strings.Contains(a.Empty, "are not in yet") {
		t.Errorf("waiting %t, empty because %q", a.Waiting, a.Empty)
	}
}
