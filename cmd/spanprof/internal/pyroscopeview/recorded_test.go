// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// answerJSON has what the tests look at of any answer.
type answerJSON struct {
	Query, Title, Note, Empty, Unit string
	Total, Samples                  int64
	From, Until                     time.Time
	Ranged, Fixed                   bool
	Span                            *spanJSON
	Baseline                        *struct {
		Query string
		From  time.Time
		Empty bool
	}
	Kinds []struct {
		Type    string
		Samples int64
	}
	Functions   []struct{ Name, File string }
	Left, Right *answerJSON
	Diff        []struct{ Name string }
	Services    []string
	Spans       []spanJSON
	Groups      []groupJSON
	Process     []struct{ Type, Service string }
}

type spanJSON struct {
	ProfileID, TraceID, Name, Service, Query string
	CPUNs                                    int64
}

type groupJSON struct {
	Name, Service, Query string
	CPUNs                int64
}

func byID(service, kind, id string) string {
	return fmt.Sprintf("%s.%s{profile_id=%q}", service, kind, id)
}

// A span's page has what its own process measured, and not what others measured of the span.
func TestSpanRecorded(t *testing.T) {
	h, r := recorded(t)
	for _, service := range []string{r.Service, "", "none"} {
		var a answerJSON
		getJSON(t, h, &a, "/", append(times(r), "query", byID(service, "cpu", r.Span))...)
		if a.Total != r.CPU.Nanoseconds() || a.Samples != r.CPU.Milliseconds()/10 || a.Unit != "nanoseconds" || !a.Ranged {
			t.Errorf("%q: total %d in %d samples, want %d", service, a.Total, a.Samples, r.CPU.Nanoseconds())
		}
		if a.Title != r.Name || a.Span == nil || a.Span.Service != r.Service || a.Span.CPUNs != r.CPU.Nanoseconds() {
			t.Errorf("%q: title %q, span %+v", service, a.Title, a.Span)
		}
		if a.Baseline == nil || !strings.Contains(a.Baseline.Query, fmt.Sprintf("span_name=%q", r.Name)) || !a.Baseline.From.Equal(r.From.Add(-time.Hour)) {
			t.Errorf("%q: baseline %+v", service, a.Baseline)
		}
		var kinds []string
		for _, k := range a.Kinds {
			kinds = append(kinds, k.Type)
		}
		if !slices.Equal(kinds, []string{"cpu", "wall"}) {
			t.Errorf("%q: kinds %q", service, kinds)
		}
	}
	var wall answerJSON
	getJSON(t, h, &wall, "/", append(times(r), "query", byID(r.Service, "wall", r.Span))...)
	if wall.Total == 0 || wall.Span == nil {
		t.Errorf("wall time %d, span %+v", wall.Total, wall.Span)
	}
}

// The comparison with the baseline is of a span with all of its name, from all
// replicas.
func TestComparisonRecorded(t *testing.T) {
	h, r := recorded(t)
	for _, page := range []string{"/comparison", "/comparison-diff"} {
		var c answerJSON
		getJSON(t, h, &c, page, append(times(r), "leftQuery", fmt.Sprintf("%s.cpu{span_name=%q}", r.Service, r.Name), "rightQuery", byID(r.Service, "cpu", r.Span))...)
		if c.Right.Total != r.CPU.Nanoseconds() || c.Left.Total < 2*c.Right.Total || len(c.Diff) == 0 || c.Note != "" {
			t.Errorf("left %d, right %d, %d differences, note %q", c.Left.Total, c.Right.Total, len(c.Diff), c.Note)
		}
	}
}

// The list has the spans that the server gives, and a note where it gives none.
func TestSpansRecorded(t *testing.T) {
	h, r := recorded(t)
	var list answerJSON
	getJSON(t, h, &list, "/", append(times(r), "order", "cpu")...)
	if !list.Fixed || !list.Ranged || len(list.Services) != 2 || !strings.Contains(list.Note, "lists not all spans") {
		t.Errorf("services %q, note %q", list.Services, list.Note)
	}
	if !slices.IsSortedFunc(list.Spans, func(a, b spanJSON) int { return int(b.CPUNs - a.CPUNs) }) || len(list.Spans) < 5 {
		t.Errorf("spans %+v", list.Spans)
	}
	if !slices.ContainsFunc(list.Groups, func(g groupJSON) bool {
		return g.Name == r.Name && g.Service == r.Service && g.CPUNs >= r.CPU.Nanoseconds()
	}) {
		t.Errorf("names %+v", list.Groups)
	}
	if len(list.Process) < 6 {
		t.Errorf("kinds %+v", list.Process)
	}
	for _, s := range list.Spans[:5] {
		if len(s.ProfileID) != 16 || len(s.TraceID) != 32 || s.Name == "" || s.Service == "" {
			t.Errorf("span %+v", s)
		}
	}
	for _, test := range [][]string{{"filter", "ARCHIVE"}, {"name", r.Name}, {"service", r.Service}, {"trace", list.Spans[0].TraceID}} {
		var some answerJSON
		getJSON(t, h, &some, "/", append(times(r), test...)...)
		if len(some.Spans) == 0 || len(some.Spans) >= len(list.Spans) {
			t.Errorf("%q: %d of %d spans", test, len(some.Spans), len(list.Spans))
		}
	}
	for _, test := range [][]string{{"min", "1s"}, {"error", "true"}, {"attribute", "http.route=/"}, {"below", list.Spans[0].ProfileID}} {
		var none answerJSON
		getJSON(t, h, &none, "/", append(times(r), test...)...)
		if len(none.Spans) != 0 || !strings.Contains(none.Note, "has no wall times, errors, attributes and parents of spans") {
			t.Errorf("%q: %d spans, note %q", test, len(none.Spans), none.Note)
		}
	}
}

// The table of names has the names of the query, and a note on conditions that do nothing.
func TestNamesRecorded(t *testing.T) {
	h, r := recorded(t)
	table := func(pairs ...string) (names []string) {
		t.Helper()
		var got struct{ Names []struct{ Name string } }
		getJSON(t, h, &got, "/names", append(times(r), pairs...)...)
		for _, n := range got.Names {
			names = append(names, n.Name)
		}
		return names
	}
	all := table()
	if some := table("filter", strings.ToUpper(r.Name)); len(some) == 0 || len(some) >= len(all) || !slices.Contains(some, r.Name) {
		t.Errorf("names %q of %q", some, all)
	}
}

// Storage before v2 lists no spans, and still shows one by its id.
func TestNoSpanList(t *testing.T) {
	_, r := recorded(t)
	h := over(t, except(t, "SelectHeatmap", answers(http.StatusNotImplemented, "application/json", `{"code":"unimplemented"}`)), 64<<20)
	var list answerJSON
	getJSON(t, h, &list, "/", times(r)...)
	if len(list.Spans) != 0 || !strings.Contains(list.Note, "ask for one by its id") || len(list.Groups) == 0 {
		t.Errorf("%d spans, note %q, names %+v", len(list.Spans), list.Note, list.Groups)
	}
}

// Every page answers in every format.
func TestPagesRecorded(t *testing.T) {
	h, r := recorded(t)
	service := r.Service
	for _, query := range []string{
		service + ".cpu", "none.cpu", service + ".inuse_space", service + ".goroutines", service + ".mutex_duration",
		fmt.Sprintf("%s.cpu{span_name=~%q}", service, "GET .*"), fmt.Sprintf("{span_name=%q,service.version!=\"9\"}", r.Name), byID(service, "cpu", r.Span), byID(service, "cpu", "none"), byID(service, "wall", "00000000000000aa"),
	} {
		for _, page := range []string{"/", "/profile", "/comparison"} {
			for _, format := range []string{"html", "json", "text", "folded", "pprof"} {
				if page == "/comparison" && (format == "folded" || format == "pprof") {
					continue
				}
				if w := get(t, h, page, append(times(r), "query", query, "format", format)...); w.Code != http.StatusOK {
					t.Errorf("%s of %s as %s: status %d: %s", page, query, format, w.Code, w.Body)
				}
			}
		}
	}
	for _, format := range []string{"html", "json", "text"} {
		if w := get(t, h, "/", append(times(r), "format", format)...); w.Code != http.StatusOK {
			t.Errorf("spans as %s: status %d: %s", format, w.Code, w.Body)
		}
	}
	if text := get(t, h, "/", "query", service+".inuse_space", "format", "text").Body.String(); !strings.Contains(strings.Join(strings.Fields(text), " "), "shares are right, sums are not") {
		t.Errorf("heap in use is not said to be a sum of moments:\n%.2000s", text)
	}
}
