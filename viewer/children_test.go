// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// newFamily returns a store with a span without samples, its child and grandchild, which
// have some, and another span of the same trace.
func newFamily(t *testing.T) (s *store.Store, root, child, grandchild string) {
	t.Helper()
	s = newStore(t)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
	ctx, first := tracer.Start(t.Context(), "HTTP GET", trace.WithTimestamp(epoch))
	ctx, second := tracer.Start(ctx, "query", trace.WithTimestamp(epoch))
	_, third := tracer.Start(ctx, "parse", trace.WithTimestamp(epoch))
	beside := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: first.SpanContext().TraceID(), SpanID: trace.SpanID{9}, TraceFlags: trace.FlagsSampled, Remote: true,
	}))
	_, other := tracer.Start(beside, "called again", trace.WithTimestamp(epoch))
	var ids []string
	b := newProfileBuilder()
	for i, span := range []trace.Span{first, second, third, other} {
		id, traceID := span.SpanContext().SpanID().String(), span.SpanContext().TraceID().String()
		ids = append(ids, id)
		span.SetAttributes(attribute.String("pyroscope.profile.id", id)) // As spans with labels of their own have it.
		if i > 0 {
			b.add(int64(i), map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {traceID}}, fmt.Sprint("main.f", i), "main.serve")
		}
	}
	for _, span := range []trace.Span{third, second, first, other} {
		span.End(trace.WithTimestamp(epoch.Add(time.Second)))
	}
	exportSecond(t, s, 0, b)
	return s, ids[0], ids[1], ids[2]
}

// A span whose children did the work links to their profile.
func TestSpanWithChildren(t *testing.T) {
	s, root, child, grandchild := newFamily(t)
	h := viewer.Handler(s)
	for id, want := range map[string]*answer.Children{
		root:       {Query: `shop.cpu{profile_id=~"` + root + `|` + child + `|` + grandchild + `"}`, Meaning: "this span with 2 spans below it", Spans: 3},
		child:      {Query: `shop.cpu{profile_id=~"` + child + `|` + grandchild + `"}`, Meaning: "this span with 1 span below it", Spans: 2},
		grandchild: nil,
	} {
		var a answer.Profile
		getJSON(t, h, target("/", "query", byID(id), "format", "json"), http.StatusOK, &a)
		if a.Span == nil {
			t.Fatalf("no span %s", id)
		}
		switch got := a.WithChildren; {
		case (got == nil) != (want == nil), got != nil && *got != *want:
			t.Errorf("with its children: %+v, want %+v", got, want)
		case want != nil:
			if a.Span.CPUInclusiveNs != 3e7 {
				t.Errorf("inclusive %d", a.Span.CPUInclusiveNs)
			}
			var together answer.Profile
			getJSON(t, h, target("/", "query", got.Query, "format", "json"), http.StatusOK, &together)
			if together.Total != a.Span.CPUInclusiveNs {
				t.Errorf("%s selects %d, want %d", got.Query, together.Total, a.Span.CPUInclusiveNs)
			}
			if text := get(t, h, target("/", "query", byID(id), "format", "text")).Body.String(); !strings.Contains(text, "children "+got.Query) {
				t.Errorf("the text does not lead to the children:\n%s", text)
			}
		}
	}
}

// If the ids do not fit into a query, it selects the trace.
func TestVeryManyChildren(t *testing.T) {
	root := store.Span{ProfileID: slowID, TraceID: "010000000000000000000000000000a1", CPUSamples: 1, SamplesHeld: 1}
	all := []store.Span{root}
	for i := range 900 {
		all = append(all, store.Span{ProfileID: fmt.Sprintf("%016x", 0x1000+i), ParentID: slowID, CPUSamples: 1, SamplesHeld: 1})
	}
	if got, want := childrenOf(t, ".cpu", all[:800]), `.cpu{profile_id=~"`+slowID+`|`; got == nil || got.Spans != 800 || !strings.HasPrefix(got.Query, want) {
		t.Errorf("got %+v", got)
	} else if _, err := flameql.Parse(got.Query); err != nil {
		t.Error(err)
	}
	if got, want := childrenOf(t, ".cpu", all), `.cpu{trace_id="`+root.TraceID+`"}`; got == nil || got.Spans != 901 || got.Query != want {
		t.Errorf("got %+v, want %s", got, want)
	}
}

// childrenOf asks for the span slowID in a trace.
func childrenOf(t *testing.T, profileType string, trace []store.Span) *answer.Children {
	t.Helper()
	h := viewer.Handler(&fileSource{spans: trace})
	var a answer.Profile
	getJSON(t, h, target("/", "query", profileType+`{profile_id="`+slowID+`"}`, "format", "json"), http.StatusOK, &a)
	return a.WithChildren
}

// Parent ids that form a circle do not loop.
func TestChildrenInACircle(t *testing.T) {
	trace := []store.Span{
		{ProfileID: slowID, TraceID: "a1", ParentID: fastID, CPUSamples: 1, SamplesHeld: 1},
		{ProfileID: fastID, TraceID: "a1", ParentID: slowID, WallSamples: 1, SamplesHeld: 1},
	}
	if got := childrenOf(t, ".cpu", trace); got != nil {
		t.Errorf("got %+v, though no child has samples of CPU", got)
	}
	if got := childrenOf(t, ".wall", trace); got == nil || got.Spans != 2 {
		t.Errorf("got %+v, want both once", got)
	}
}
