// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
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

// A span with those below it is compared with all spans of its name and those below them:
// the CPU time of both includes that of children.
func TestBaselineOfTrees(t *testing.T) {
	s, root, child := newTrees(t, 3)
	h := viewer.Handler(s)
	const base = `shop.cpu{in_span_name="GET /"}`
	check := func(b *answer.Baseline) {
		t.Helper()
		if b == nil || b.Query != base || b.Meaning != "all spans of this name, each with those below it" {
			t.Errorf("baseline %+v", b)
		}
	}
	var own, tree, all answer.Profile
	getJSON(t, h, target("/", "query", byID(root), "format", "json"), http.StatusOK, &own)
	check(own.ChildrenBaseline)
	if own.Baseline == nil || own.Baseline.Query != `shop.cpu{span_name="GET /"}` {
		t.Errorf("alone it is compared with %+v", own.Baseline)
	}
	getJSON(t, h, target("/", "query", own.WithChildren.Query, "format", "json"), http.StatusOK, &tree)
	check(tree.Baseline)
	getJSON(t, h, target("/", "query", base, "format", "json"), http.StatusOK, &all)
	if own.Total != 1e7 || tree.Total != 11e7 || all.Total != 63e7 || all.Title != "GET / and all below it" {
		t.Errorf("%d, with children %d, of all %d, %q", own.Total, tree.Total, all.Total, all.Title)
	}
	p, err := profile.Parse(get(t, h, target("/profile", "query", base)).Body)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, s := range p.Sample {
		sum += s.Value[1]
	}
	if sum != all.Total {
		t.Errorf("pprof has %d, want %d", sum, all.Total)
	}

	var c answer.Comparison
	getJSON(t, h, target("/comparison", "leftQuery", base, "rightQuery", own.WithChildren.Query, "format", "json"), http.StatusOK, &c)
	if c.LeftName != "all spans of this name, each with those below it" || c.RightName != "GET / and all below it" || c.Left.OfSpans != 3 || c.Right.OfSpans != 1 {
		t.Errorf("%q of %d spans against %q of %d", c.RightName, c.Right.OfSpans, c.LeftName, c.Left.OfSpans)
	}
	text := get(t, h, target("/comparison", "leftQuery", base, "rightQuery", own.WithChildren.Query, "format", "text")).Body.String()
	for _, want := range []string{"left: all spans of this name, each with those below it\n", "right: GET / and all below it\n", "  each     210 ms for each of 3 spans\n", " pp    -100 ms  main.query\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// Of a part of the time the number of spans is not known.
	c = answer.Comparison{}
	getJSON(t, h, target("/comparison", "leftQuery", base, "leftFrom", "2026-11-01T12:00:00Z", "rightQuery", `.cpu{span_name=~"query"}`, "format", "json"), http.StatusOK, &c)
	if c.Left.OfSpans != 0 || c.Right.OfSpans != 0 {
		t.Errorf("%d and %d spans", c.Left.OfSpans, c.Right.OfSpans)
	}

	// A list of other spans is no tree, nor is one that has less than all below a span.
	for _, query := range []string{`.cpu{profile_id=~"` + child + `|` + root + `"}`, `.cpu{profile_id=~"` + root + `"}`} {
		var a answer.Profile
		getJSON(t, h, target("/", "query", query, "format", "json"), http.StatusOK, &a)
		if a.Baseline != nil && a.Baseline.Query == base {
			t.Errorf("%s has the baseline of a tree", query)
		}
	}
	w := get(t, h, target("/", "query", `.cpu{in_span_name=~"GET.*"}`, "format", "json"))
	if w.Code != http.StatusBadRequest {
		t.Errorf("an expression on in_span_name: %d", w.Code)
	}
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
