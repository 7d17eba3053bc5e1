// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// newFamily returns a store with a span, its child and its grandchild, and another span of the
// same trace. Only the child and the grandchild have samples.
func newFamily(t *testing.T) (s *store.Store, root, child, grandchild string) {
	t.Helper()
	s = newStore(t)
	tracer := newTracer(s, shop)
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

// A span links to the profile of its children, which did the work.
func TestSpanWithChildren(t *testing.T) {
	s, root, child, grandchild := newFamily(t)
	h := viewer.Handler(s)
	for id, want := range map[string]*answer.Children{
		root:       {Query: `shop.cpu{profile_id=~"` + root + `|` + child + `|` + grandchild + `"}`, Meaning: "this span with 2 spans below it"},
		child:      {Query: `shop.cpu{profile_id=~"` + child + `|` + grandchild + `"}`, Meaning: "this span with 1 span below it"},
		grandchild: nil,
	} {
		a := profileOf(t, h, byID(id))
		if a.Span == nil || len(a.Trace) != 4 {
			t.Fatalf("of %s: span %+v, trace %+v", id, a.Span, a.Trace)
		}
		switch got := a.WithChildren; {
		case (got == nil) != (want == nil), got != nil && *got != *want:
			t.Errorf("with its children: %+v, want %+v", got, want)
		case want != nil:
			if a.Span.CPUInclusive != 3e7 {
				t.Errorf("inclusive %d", a.Span.CPUInclusive)
			}
			together := profileOf(t, h, got.Query)
			if together.Total != a.Span.CPUInclusive.Nanoseconds() {
				t.Errorf("%s selects %d, want %d", got.Query, together.Total, a.Span.CPUInclusive.Nanoseconds())
			}
			if text := get(t, h, target("/", "query", byID(id), "format", "text")).Body.String(); !strings.Contains(text, "children "+got.Query) {
				t.Errorf("the text does not lead to the children:\n%s", text)
			}
		}
	}
	// In lists a request is one span, with the number of spans below it.
	for params, want := range map[string]int{"": 2, "&flat=true": 4, "&below=" + root: 2} {
		var list answer.SpanList
		getJSON(t, h, "/?format=json"+params, http.StatusOK, &list)
		if i := slices.IndexFunc(list.Spans, func(s answer.Span) bool { return s.Below == 2 && s.ProfileID == root }); len(list.Spans) != want || (i >= 0) != (params == "") {
			t.Errorf("%s: %d spans, want %d, the request is at %d", params, len(list.Spans), want, i)
		}
	}
}

// Ids that do not fit into a query are counted, and so are all spans of the trace.
func TestVeryManyChildren(t *testing.T) {
	all := []store.Span{{ProfileID: slowID, TraceID: "010000000000000000000000000000a1", CPUSamples: 1, SamplesHeld: 1}}
	for i := range 900 {
		all = append(all, store.Span{ProfileID: fmt.Sprintf("%016x", 0x1000+i), ParentID: slowID, CPUSamples: 1, SamplesHeld: 1})
	}
	h := viewer.Handler(&fileSource{spans: all})
	a := profileOf(t, h, byID(slowID))
	text := get(t, h, target("/", "query", byID(slowID), "format", "text")).Body.String()
	if len(a.Trace) != 100 || a.TraceSpans != 901 || !strings.Contains(text, "(901 spans)") {
		t.Errorf("%d of %d spans of the trace, in the text:\n%s", len(a.Trace), a.TraceSpans, text)
	}
	got := a.WithChildren
	if want := "this span with 882 spans below it, without 18 more for which one query has no room"; got == nil || got.Meaning != want {
		t.Fatalf("got %+v, want %s", got, want)
	}
	if _, err := flameql.Parse(got.Query); err != nil {
		t.Error(err)
	}
}

// An exemplar of a metric may have the ids of a trace and of a span without a profile. They
// select the local roots of the trace.
func TestLocalRootOfChild(t *testing.T) {
	const child = "00000000000000c1"
	s := newStore(t)
	tracer := newTracer(s, shop)
	_, root := tracer.Start(t.Context(), "checkout", trace.WithTimestamp(epoch))
	id, traceID := root.SpanContext().SpanID().String(), root.SpanContext().TraceID().String()
	b := newProfileBuilder()
	b.add(5, map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {traceID}, "span_name": {"checkout"}}, "main.pay", "main.serve")
	root.End(trace.WithTimestamp(epoch.Add(time.Second)))
	exportSecond(t, s, 0, b)
	h := viewer.Handler(s)

	query := `.cpu{span_id="` + child + `",trace_id="` + traceID + `"}`
	a := profileOf(t, h, query)
	if a.Total != 5e7 || a.Title != "checkout" || a.Span == nil || a.Span.ProfileID != id || !strings.Contains(a.Note, child) || !strings.Contains(a.Note, "1 local root of its trace") {
		t.Errorf("total %d, title %q, span %+v, note %q", a.Total, a.Title, a.Span, a.Note)
	}
	p, err := profile.Parse(get(t, h, target("/", "query", query, "format", "pprof")).Body)
	if err != nil || len(p.Sample) != 1 || p.DurationNanos != int64(time.Second) {
		t.Errorf("pprof %v, %v", p, err)
	}

	for _, unknown := range []string{`.cpu{span_id="` + child + `"}`, `.cpu{span_id="` + child + `",trace_id="00000000000000000000000000000001"}`} {
		a := profileOf(t, h, unknown)
		if a.Total != 0 || !strings.Contains(a.Empty, child) {
			t.Errorf("%s: total %d, %q", unknown, a.Total, a.Empty)
		}
	}

	// Of this trace there are samples alone, as in files.
	const alone = "00000000000000000000000000000002"
	b = newProfileBuilder()
	b.add(3, map[string][]string{"profile_id": {"00000000000000d1"}, "span_id": {"00000000000000d1"}, "trace_id": {alone}}, "main.alone")
	exportSecond(t, s, 1, b)
	a = profileOf(t, h, `.cpu{span_id="`+child+`",trace_id="`+alone+`"}`)
	if a.Total != 3e7 || !strings.HasSuffix(a.Note, "this is the profile of its trace") {
		t.Errorf("samples alone: total %d, note %q", a.Total, a.Note)
	}

	// A service that is called twice has two local roots in the trace.
	_, again := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), root.SpanContext()), "refund", trace.WithTimestamp(epoch))
	again.End(trace.WithTimestamp(epoch.Add(time.Second)))
	a = profileOf(t, h, query)
	if a.Total != 5e7 || a.Query != `.cpu{trace_id="`+traceID+`"}` || !strings.Contains(a.Note, "2 local roots") {
		t.Errorf("total %d of %s, note %q", a.Total, a.Query, a.Note)
	}
}
