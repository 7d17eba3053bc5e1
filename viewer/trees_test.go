// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// newTrees returns a store with spans of a name with a sample, each with a span below it, of
// which the i-th has 10i samples, and the ids of the first.
func newTrees(t *testing.T, n int) (s *store.Store, root, child string) {
	t.Helper()
	s = newStore(t)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
	b := newProfileBuilder()
	for i := range n {
		ctx, first := tracer.Start(t.Context(), "GET /", trace.WithTimestamp(epoch))
		_, second := tracer.Start(ctx, "query", trace.WithTimestamp(epoch))
		for j, span := range []trace.Span{second, first} {
			id := span.SpanContext().SpanID().String()
			span.SetAttributes(attribute.String("pyroscope.profile.id", id))
			name, count, function := "query", 10*int64(i+1), "main.query"
			if j > 0 {
				name, count, function = "GET /", 1, "main.get"
			}
			b.add(count, map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {span.SpanContext().TraceID().String()}, "span_name": {name}}, function, "main.serve")
			span.End(trace.WithTimestamp(epoch.Add(time.Second)))
		}
		if i == 0 {
			root, child = first.SpanContext().SpanID().String(), second.SpanContext().SpanID().String()
		}
	}
	exportSecond(t, s, 0, b)
	return s, root, child
}

// What a request was is said by its children too, which have records of their own.
func TestAttributesOfChildren(t *testing.T) {
	s, root, child := newTimedFamily(t)
	h := viewer.Handler(s)
	for id, want := range map[string]answer.Attribute{
		root:  {Key: "db.query.text", Value: "SELECT", Child: "query"},
		child: {Key: "db.query.text", Value: "SELECT"},
	} {
		var a answer.Profile
		getJSON(t, h, target("/", "query", byID(id), "format", "json"), http.StatusOK, &a)
		if len(a.Span.Attributes) != 1 || a.Span.Attributes[0] != want || a.Span.AttributesOmitted {
			t.Errorf("attributes %+v, want %+v", a.Span.Attributes, want)
		}
	}
	text := get(t, h, target("/", "query", byID(root), "format", "text")).Body.String()
	if !strings.Contains(text, "db.query.text=SELECT (query)\n") {
		t.Errorf("the attribute of the child is not in\n%s", text)
	}
}
