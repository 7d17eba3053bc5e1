// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// ofIDs returns a store with n windows of some samples each, and the ids of the samples. Each
// sample has its own, in the labels that label returns.
func ofIDs(tb testing.TB, windows, samples int, format string, labels ...string) (*store.Store, []string) {
	tb.Helper()
	s := newStore(tb)
	var all []string
	for n := range windows {
		p := cpuProfile(sample{"main;f", 1, nil})
		like := p.Sample[0]
		p.Sample = nil
		for range samples {
			// The low bits of ids must not be in order.
			id := fmt.Sprintf(format, uint64(len(all)+1)*0x9e3779b97f4a7c15)
			all = append(all, id)
			of := map[string][]string{labelkey.SpanName: {fmt.Sprint("job ", len(all)%20)}}
			for _, label := range labels {
				of[label] = []string{id}
			}
			p.Sample = append(p.Sample, &profile.Sample{Location: like.Location, Value: like.Value, Label: of})
		}
		export(tb, s, inWindow(n, exporter.KindCPU, p))
	}
	if evicted := s.Stats().WindowsEvicted; evicted > 0 {
		tb.Fatalf("%d windows evicted", evicted)
	}
	return s, all
}

// some returns n of the ids, from all windows.
func some(ids []string, n int) []string {
	var list []string
	for i := range n {
		list = append(list, ids[i*len(ids)/n])
	}
	return list
}

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
			sample{"main;d", 8, labels("profile_id", "job", "span_id", x)},
			sample{"main;e", 16, labels("profile_id", x, "span_id", y)},
			sample{"main;f", 32, labels("profile_id", "00000000000000AA", "trace_id", "t")},
			sample{"main;g", 64, nil},
		)))
	}
	name := matcher(t, "span_name", store.MatchEqual, "GET /")
	for _, label := range []string{labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID} {
		for _, list := range [][]string{{x}, {x, y}, {z, "job", x, "none"}, {"00000000000000AA"}, {"", x}, {strings.Repeat("2", 32), "t"}, {""}, {"none"}} {
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
		{labelkey.TraceID, store.MatchEqual, "t", true},
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

// BenchmarkIDs selects the ids of a page's list in a store of 650,000.
func BenchmarkIDs(b *testing.B) {
	s, ids := ofIDs(b, 500, 1300, "%016x", labelkey.ProfileID, labelkey.SpanID)
	for name, m := range map[string]store.Matcher{
		"one":         matcher(b, labelkey.ProfileID, store.MatchEqual, ids[7]),
		"500":         matcher(b, labelkey.ProfileID, store.MatchRegexp, strings.Join(some(ids, 500), "|")),
		"all but 500": matcher(b, labelkey.ProfileID, store.MatchNotRegexp, strings.Join(some(ids, 500), "|")),
		"one trace":   matcher(b, labelkey.TraceID, store.MatchEqual, "0123456789abcdef0123456789abcdef"),
		"any":         matcher(b, labelkey.ProfileID, store.MatchRegexp, ".+"),
		"expression":  matcher(b, labelkey.ProfileID, store.MatchRegexp, "[0-8a-f]+"), // a longer one is refused
	} {
		q := store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}}
		byLabels := q
		byLabels.Labels, byLabels.Steps = []string{"span_name", "service_name"}, true
		b.Run("Select/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Select(q); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Timeline/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Samples(byLabels); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkExemplars lists work that is labelled by hand.
func BenchmarkExemplars(b *testing.B) {
	for name, format := range map[string]string{"ids of spans": "%016x", "texts": "job-%016x"} {
		s, _ := ofIDs(b, 476, 500, format, labelkey.ProfileID)
		b.Run("Spans/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := len(s.Spans(store.SpanQuery{Limit: 500})); n != 500 {
					b.Fatal(n)
				}
			}
		})
		b.Run("NameTotals/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := len(s.NameTotals()); n != 20 {
					b.Fatal(n)
				}
			}
		})
	}
}

// TestLookup finds spans that have ended and no others.
func TestLookup(t *testing.T) {
	s := newStore(t)
	tp := newTracerProvider(s)
	ctx, root := tp.Tracer("test").Start(t.Context(), "GET /search", at(1))
	_, child := tp.Tracer("test").Start(ctx, "query", at(1))
	check := func(id, wantName string, wantOK bool) {
		t.Helper()
		name, traceID, ok := s.Lookup(id)
		if name != wantName || ok != wantOK || ok && traceID != root.SpanContext().TraceID().String() {
			t.Errorf("Lookup(%q) is %q of the trace %q, %v, want %q, %v", id, name, traceID, ok, wantName, wantOK)
		}
	}
	check(idOf(root), "", false)
	check(idOf(child), "", false)
	root.SetName("GET /search/{q}")
	root.End(at(2))
	check(idOf(root), "GET /search/{q}", true)
	for _, id := range []string{"", "0000000000000000", "00f067aa0ba902b7", "no hex at all :-)"} {
		check(id, "", false)
	}
}
