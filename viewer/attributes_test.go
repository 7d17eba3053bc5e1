// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// newQueries returns a store with two spans of one name. A child of each has the query.
func newQueries(t *testing.T) (s *store.Store, ids []string) {
	t.Helper()
	s = newStore(t)
	tracer := newTracer(s, shop)
	b := newProfileBuilder()
	for i, query := range []string{`SELECT FROM "a"`, "SELECT b"} {
		ctx, root := tracer.Start(t.Context(), "GET /", trace.WithTimestamp(epoch), trace.WithAttributes(attribute.String("http.request.method", "GET")))
		_, child := tracer.Start(ctx, "query", trace.WithAttributes(attribute.String("db.query.text", query)))
		child.End()
		root.End(trace.WithTimestamp(epoch.Add(time.Second)))
		id := root.SpanContext().SpanID().String()
		ids = append(ids, id)
		b.add(int64(2-i), map[string][]string{"profile_id": {id}, "span_id": {id}, "span_name": {"GET /"}}, "main.scan", "main.serve")
	}
	exportSecond(t, s, 0, b)
	return s, ids
}

// The list shows the attributes of a request, and finds spans by them.
func TestAttributesOfSpans(t *testing.T) {
	s, ids := newQueries(t)
	h := viewer.Handler(s)
	for _, test := range []struct {
		params []string
		want   []string
	}{
		{[]string{"filter", "select B"}, ids[1:]},
		{[]string{"attribute", "db.query.text=SELECT b"}, ids[1:]},
		{[]string{"attribute", "tenant=x"}, nil},
	} {
		if got := listedIDs(t, h, test.params...); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.params, got, test.want)
		}
	}

	list := listOf(t, h)
	at := max(0, slices.IndexFunc(list.Spans, func(s answer.Span) bool { return s.ProfileID == ids[1] })) // both ended at one time
	if want := []store.Attribute{{Key: "http.request.method", Value: "GET"}, {Key: "db.query.text", Value: "SELECT b", Child: "query"}}; !cmp.Equal(want, list.Spans[at].Attributes) {
		t.Errorf("attributes %+v, want %+v", list.Spans[at].Attributes, want)
	}
	if text := get(t, h, target("/", "query", byID(ids[1]), "format", "text")).Body.String(); !strings.Contains(text, `db.query.text="SELECT b" (query)`) {
		t.Errorf("the span's text has no query:\n%s", text)
	}
}

// A label is sought in a bounded number of spans, and the list has a note.
func TestSpansByLabel(t *testing.T) {
	source := &fileSource{spans: make([]store.Span, 10_000)}
	source.spans[7].Label = "job"
	source.asked = func(question any) {
		if q, ok := question.(store.SpanQuery); ok && !q.Names && (q.Limit < 1 || q.Limit > 10_000) {
			t.Errorf("asked for %d spans", q.Limit)
		}
	}
	var list answer.SpanList
	getJSON(t, viewer.Handler(source), "/?name=job&format=json", http.StatusOK, &list)
	if len(list.Spans) != 1 || !strings.Contains(list.Note, "only the first 10000 spans are searched") {
		t.Errorf("%d spans, note %q", len(list.Spans), list.Note)
	}
}
