// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// TestLists compares lists of ids with the union of their values. The samples have ids of
// spans, texts, both, or neither.
func TestLists(t *testing.T) {
	s := newStore(t)
	const x, y, z = "00000000000000aa", "00000000000000bb", "00000000000000cc"
	for n := range 3 {
		export(t, s, inWindow(n, exporter.KindCPU, cpuProfile(
			sample{"main;a", 1, labels("profile_id", x, "span_id", x, "trace_id", strings.Repeat("1", 32), "span_name", "GET /")},
			sample{"main;b", 2, labels("span_id", y, "trace_id", strings.Repeat("2", 32), "span_name", "GET /")},
			sample{"main;c", 4, labels("profile_id", z, "span_name", "PUT /")},
			sample{"main;d", 8, labels("profile_id", "job.1", "span_id", x)},
			sample{"main;e", 16, labels("profile_id", x, "span_id", y)},
			sample{"main;f", 32, labels("profile_id", "00000000000000AA", "trace_id", "t")},
			sample{"main;g", 64, nil},
		)))
	}
	name := matcher(t, "span_name", store.MatchEqual, "GET /")
	for _, label := range []string{labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID} {
		for _, list := range [][]string{{x}, {x, y}, {z, x, "none"}, {"00000000000000AA"}, {"", x}, {strings.Repeat("2", 32), "t"}, {""}, {"none"}} {
			// An expression is about one of the labels, so without the list: a
			// group around it makes it none.
			written := strings.Join(list, "|")
			for _, op := range []store.MatchOp{store.MatchRegexp, store.MatchNotRegexp} {
				got, other := matcher(t, label, op, written), matcher(t, label, op, "("+written+")")
				for _, more := range [][]store.Matcher{nil, {name}} {
					want := selectCPU(t, s, append(more, other)...)
					if diff := cmp.Diff(folded(want), folded(selectCPU(t, s, append(more, got)...))); diff != "" {
						t.Errorf("%s, operator %d, %q with %d others: %s", label, op, list, len(more), diff)
					}
				}
				if lists := op == store.MatchRegexp && !slices.Contains(list, ""); got.ListsIDs() != lists || other.ListsIDs() {
					t.Errorf("%s, operator %d, %q: lists ids: %t, in a group %t", label, op, list, got.ListsIDs(), other.ListsIDs())
				}
			}
		}
	}
	for _, test := range []struct {
		label string
		op    store.MatchOp
		value string
		want  bool
	}{
		{labelkey.ProfileID, store.MatchEqual, "job", true},
		{labelkey.SpanID, store.MatchEqual, "", false},
		{labelkey.SpanID, store.MatchNotEqual, x, false},
		{labelkey.SpanName, store.MatchEqual, "GET /", false},
		{labelkey.SpanName, store.MatchRegexp, "a|b", false},
	} {
		if got := matcher(t, test.label, test.op, test.value).ListsIDs(); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// TestLookup finds spans that have ended and no others.
func TestLookup(t *testing.T) {
	s := newStore(t)
	_, span := newTracerProvider(s).Tracer("test").Start(t.Context(), "GET /search", at(1))
	if _, _, ok := s.Lookup(idOf(span)); ok {
		t.Error("a span is found that runs")
	}
	span.SetName("GET /search/{q}")
	span.End(at(2))
	if name, traceID, ok := s.Lookup(idOf(span)); name != "GET /search/{q}" || traceID != span.SpanContext().TraceID().String() || !ok {
		t.Errorf("got %q of the trace %q, %v", name, traceID, ok)
	}
	for _, id := range []string{"", "0000000000000000", "00f067aa0ba902b7", "no hex at all :-)"} {
		if _, _, ok := s.Lookup(id); ok {
			t.Errorf("%q is found", id)
		}
	}
}
