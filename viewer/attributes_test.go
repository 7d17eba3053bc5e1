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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// newQueries returns a store with two spans of one name. A child of each has the query.
func newQueries(t *testing.T) (s *store.Store, ids []string) {
	t.Helper()
	s = newStore(t)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
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

// The list shows the attributes of a request, and finds and sums spans by them.
func TestAttributesOfSpans(t *testing.T) {
	s, ids := newQueries(t)
	h := viewer.Handler(s)
	for _, test := range []struct {
		params []string
		want   []string
	}{
		{[]string{"filter", "select B"}, ids[1:]},
		{[]string{"attribute", "db.query.text=SELECT b"}, ids[1:]},
		{[]string{"attribute", "db.query.text!=SELECT b"}, ids[:1]},
		{[]string{"attribute", "db.query.text=~SELECT.*", "attribute", "db.query.text!~.*b"}, ids[:1]},
		{[]string{"attribute", "tenant=x"}, nil},
	} {
		var list answer.SpanList
		getJSON(t, h, target("/", append(test.params, "format", "json")...), http.StatusOK, &list)
		var got []string
		for _, s := range list.Spans {
			got = append(got, s.ProfileID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.params, got, test.want)
		}
	}
	for _, wrong := range [][]string{{"attribute", "db.query.text"}, {"attribute", "=x"}, {"attribute", "a=~("}, {"flat", "perhaps"}, {"limit", "-1"}} {
		if w := get(t, h, target("/", append(wrong, "format", "json")...)); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), wrong[0]) {
			t.Errorf("%v: status %d, %s", wrong, w.Code, w.Body)
		}
	}

	var list answer.SpanList
	getJSON(t, h, target("/", "by", "db.query.text", "format", "json"), http.StatusOK, &list)
	at := max(0, slices.IndexFunc(list.Spans, func(s answer.Span) bool { return s.ProfileID == ids[1] })) // both ended at one time
	if want := []store.Attribute{{Key: "http.request.method", Value: "GET"}, {Key: "db.query.text", Value: "SELECT b", Child: "query"}}; !cmp.Equal(want, list.Spans[at].Attributes) {
		t.Errorf("attributes %+v, want %+v", list.Spans[at].Attributes, want)
	}
	if want := []sums.AttributeKey{{Key: "db.query.text", Spans: 2}, {Key: "http.request.method", Spans: 2}}; !cmp.Equal(want, list.AttributeKeys) {
		t.Errorf("keys %+v, want %+v", list.AttributeKeys, want)
	}
	if list.By == nil || len(list.By.Values) != 2 {
		t.Fatalf("by %+v", list.By)
	}
	for i, value := range list.By.Values {
		var a answer.Profile
		getJSON(t, h, target("/", "query", value.Query, "format", "json"), http.StatusOK, &a)
		if a.Total != value.CPU.Nanoseconds() || a.Total != int64(2-i)*1e7 || a.Title != "db.query.text = "+*value.Value {
			t.Errorf("%+v: total %d, title %q", value, a.Total, a.Title)
		}
	}
	var c answer.Comparison
	getJSON(t, h, target("/comparison", "leftQuery", list.By.Values[0].Query, "rightQuery", list.By.Values[1].Query, "format", "json"), http.StatusOK, &c)
	if c.Left.Total != 2e7 || c.Right.Total != 1e7 {
		t.Errorf("compared %d with %d", c.Right.Total, c.Left.Total)
	}

	text := get(t, h, target("/", "by", "db.query.text", "format", "text")).Body.String()
	for _, want := range []string{"    db.query.text=\"SELECT b\" (query)\n", "by db.query.text\n", `20.0 ms  20.0 ms        -       1      0   1.00 s   1.00 s   1.00 s  SELECT FROM "a"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := get(t, h, target("/", "query", byID(ids[1]), "format", "text")).Body.String(); !strings.Contains(text, `db.query.text="SELECT b" (query)`) {
		t.Errorf("the span's text has no query:\n%s", text)
	}
}

// If only a child has the value, the times are marked as times of whole requests.
func TestTimesOfWholeRequests(t *testing.T) {
	s, _ := newQueries(t)
	h := viewer.Handler(s)
	const whole = "these are the times of whole requests: a request counts for each value that it has; for the time of one query, give each span a profile (WithRootSpanOnly(false))"
	for key, want := range map[string]string{"db.query.text": whole, "http.request.method": ""} {
		var list answer.SpanList
		getJSON(t, h, target("/", "by", key, "format", "json"), http.StatusOK, &list)
		if list.By == nil || list.By.Note != want {
			t.Errorf("by %s: %+v", key, list.By)
		}
		if text := flat(t, h, target("/", "by", key, "format", "text")); strings.Contains(text, "note: "+whole) != (want != "") {
			t.Errorf("by %s: %s", key, text)
		}
	}
}

// Sums by an attribute that no span has carry the reason.
func TestSumsByNothing(t *testing.T) {
	s, _ := newQueries(t)
	for _, test := range []struct {
		h         http.Handler
		key, want string
	}{
		{viewer.Handler(s), "tenant", "no span that is held has this attribute"},
		{viewer.Handler(newFile(t)), "http.route", "the profiles here know no attributes of spans: conditions on span.\u2026 need the records of a running program"},
	} {
		var list answer.SpanList
		getJSON(t, test.h, target("/", "by", test.key, "format", "json"), http.StatusOK, &list)
		if list.By == nil || list.By.Note != test.want || list.By.Values == nil {
			t.Errorf("%+v, want %q", list.By, test.want)
		}
		if text := flat(t, test.h, target("/", "by", test.key, "format", "text")); !strings.Contains(text, "note: "+test.want) {
			t.Errorf("no %q in %s", test.want, text)
		}
	}
}

// In all-spans scope a request is one span of the list, with the number of spans below it;
// these are asked for by its id.
func TestRequestWithSpansBelow(t *testing.T) {
	s, root, child, grandchild := newFamily(t)
	h := viewer.Handler(s)
	listed := func(params ...string) (ids []string) {
		var list answer.SpanList
		getJSON(t, h, target("/", append(params, "format", "json")...), http.StatusOK, &list)
		for _, s := range list.Spans {
			ids = append(ids, s.ProfileID)
			if s.ProfileID == root && len(params) == 2 && (s.Below != 2 || s.CPUInclusive != 3e7) {
				t.Errorf("%+v", s)
			}
		}
		return ids
	}
	if text := flat(t, h, "/?format=text"); !strings.Contains(text, "cpu includes the spans below each, samples are the span's own") {
		t.Errorf("the columns are not told apart:\n%s", text)
	}
	if got := listed("order", "cpu"); len(got) != 2 || got[0] != root && got[1] != root {
		t.Errorf("got %v, want %s and the other local root", got, root)
	}
	if got := listed("flat", "true", "order", "cpu"); len(got) != 4 {
		t.Errorf("flat: %v", got)
	}
	got := listed("below", root)
	slices.Sort(got)
	want := []string{child, grandchild}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("below %s: %v, want %v", root, got, want)
	}
	if got := listed("name", "parse"); !slices.Equal(got, []string{grandchild}) {
		t.Errorf("by name: %v, want %s", got, grandchild)
	}
}
