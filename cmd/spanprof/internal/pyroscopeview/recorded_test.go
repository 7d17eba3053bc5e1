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
	Title, Note, Unit string
	Total, Samples    int64
	Ranged, Fixed     bool
	Span              *spanJSON
	Baseline          *struct {
		Query string
		From  time.Time
	}
	Kinds    []struct{ Type string }
	Services []string
	Spans    []spanJSON
	Groups   []spanJSON
	Process  []struct{ Type string }
}

type spanJSON struct {
	ProfileID, TraceID, Name, Service string
	CPUNs                             int64
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
	if !slices.ContainsFunc(list.Groups, func(g spanJSON) bool {
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
}
