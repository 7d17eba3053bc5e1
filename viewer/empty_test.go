// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// endSpan records a span from one second of the test to another and returns its id.
func endSpan(t *testing.T, s *store.Store, name string, start, end int) string {
	t.Helper()
	_, span := newTracer(s, shop).Start(t.Context(), name, trace.WithTimestamp(at(1000*start)))
	span.End(trace.WithTimestamp(at(1000 * end)))
	return span.SpanContext().SpanID().String()
}

func byID(id string) string { return `shop.cpu{profile_id="` + id + `"}` }

// The page shows "no sample hit this span" only if CPU was profiled.
func TestEmptyForWantOfAProfile(t *testing.T) {
	s := newStore(t)
	// Another CPU profile ran from 10 s to 30 s.
	sampled := endSpan(t, s, "GET /", 5, 35)
	b := newProfileBuilder()
	b.add(7, labels(sampled, "GET /"), "main.serve")
	exportSecond(t, s, 0, b)
	exportSecond(t, s, 30, newProfileBuilder())
	h := viewer.Handler(s)
	part := profileOf(t, h, byID(sampled))
	if part.Total != 7e7 || !strings.HasPrefix(part.Note, "CPU was not profiled in part") {
		t.Errorf("total %d, note %q", part.Total, part.Note)
	}
	for id, want := range map[string]struct{ empty, coverage, list string }{
		endSpan(t, s, "before", -5, -3):      {"CPU was not profiled during this span", "none", "before [not profiled]"},
		endSpan(t, s, "profiled", 2, 3):      {"no sample hit this span: it took 1.00 s", "whole", "profiled\n"},
		endSpan(t, s, "in the gap", 15, 20):  {"CPU was not profiled during this span", "none", "in the gap [not profiled]"},
		endSpan(t, s, "into the gap", 8, 12): {"no sample hit this span, but CPU was not profiled during part of it", "partial", "into the gap [not profiled]"},
		endSpan(t, s, "late", 35, 45):        {"the samples of this span are not in yet", "whole", "late [window open]"},
	} {
		a := profileOf(t, h, byID(id))
		if !strings.HasPrefix(a.Empty, want.empty) || a.Span.Coverage != want.coverage {
			t.Errorf("coverage %s, empty because %q, want %s and %q", a.Span.Coverage, a.Empty, want.coverage, want.empty)
		}
		if list := get(t, h, "/?format=text").Body.String(); !strings.Contains(list, want.list) {
			t.Errorf("%q is not in the list:\n%s", want.list, list)
		}
	}
}

// The profiles of a span may have made room for newer ones.
func TestEmptyForWantOfRoom(t *testing.T) {
	file := newFile(t)
	file.spans = []store.Span{{ProfileID: "b1", Name: "GET /late", Duration: time.Second, Complete: true, Coverage: store.CoverageEvicted}}
	h := viewer.Handler(file)
	a := profileOf(t, h, byID("b1"))
	if !strings.HasPrefix(a.Empty, "CPU profiles of this span's time made room for newer ones") || a.Span.Coverage != "evicted" {
		t.Errorf("coverage %s, empty because %q", a.Span.Coverage, a.Empty)
	}
	if list := get(t, h, "/?format=text").Body.String(); !strings.Contains(list, "GET /late [profile evicted]") {
		t.Errorf("the list does not mark what was evicted:\n%s", list)
	}
}

// The query for a name has the label that the samples carry.
func TestLabelIsNotTheName(t *testing.T) {
	s := newStore(t)
	h := viewer.Handler(s)
	b := newProfileBuilder()
	names := map[string]string{
		"GET /" + strings.Repeat("x", 200): "GET /" + strings.Repeat("x", 27), // WithSpanNameLimit(256, 32)
		"GET /rare":                        "other",
		"GET /route":                       "GET", // SetName
		"GET /plain":                       "GET /plain",
	}
	idle := map[string]string{}
	for name, label := range names {
		id := endSpan(t, s, name, 1, 2)
		idle[name] = endSpan(t, s, name, 3, 4)
		b.add(7, labels(id, label), "main.serve")
	}
	exportSecond(t, s, 0, b)

	list := listOf(t, h)
	if len(list.Groups) != len(names) {
		t.Fatalf("groups %+v", list.Groups)
	}
	for _, g := range list.Groups {
		a := profileOf(t, h, g.Query)
		if a.Total != 7e7 {
			t.Errorf("%s has a total of %d: %s", g.Query, a.Total, a.Empty)
		}
	}
	for _, span := range list.Spans {
		a := profileOf(t, h, span.Query)
		label := names[span.Name]
		if want := flameql.ForService("shop").WithEqual("span_name", label).String(); a.Baseline.Query != want || (a.Baseline.Spans == 2) != (label == span.Name) {
			t.Errorf("baseline %+v, want %s of 2 spans", a.Baseline, want)
		}
	}
}

// A profile without the sample type is not the server's fault.
func TestUnknownSampleType(t *testing.T) {
	s := newStore(t)
	b := newProfileBuilder()
	b.profile.SampleType = b.profile.SampleType[:1]
	b.addValues([]int64{3}, labels(slowID, "GET /"), "main.serve")
	exportSecond(t, s, 0, b)
	h := viewer.Handler(s)
	for _, address := range []string{
		target("/", "query", ".cpu{}", "format", "json"),
		target("/", "query", ".cpu{}", "format", "pprof"),
		target("/comparison", "query", ".cpu{}", "format", "text"),
	} {
		if w := get(t, h, address); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "use one of samples") {
			t.Errorf("GET %s: status %d: %s", address, w.Code, w.Body)
		}
	}
	w := get(t, h, "/?format=json")
	if w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}

// The wall time of a span without a summary is not known.
func TestSummaryMissing(t *testing.T) {
	s := newStore(t)
	b := newProfileBuilder()
	b.add(7, labels(slowID, "GET /"), "main.serve")
	exportSecond(t, s, 0, b)
	a := profileOf(t, viewer.Handler(s), byID(slowID))
	if a.Span == nil || !a.Span.SummaryMissing || a.Span.Manual {
		t.Errorf("span %+v", a.Span)
	}
	if text := get(t, viewer.Handler(s), target("/", "query", byID(slowID), "format", "text")).Body.String(); !strings.Contains(text, "  wall -  ") {
		t.Errorf("the text has a wall time:\n%s", text)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	s := newStore(t)
	for i := range 107 {
		endSpan(t, s, fmt.Sprint("GET /", i), 0, 1)
	}
	list := listOf(t, viewer.Handler(s))
	text := get(t, viewer.Handler(s), "/?format=text").Body.String()
	if len(list.Groups) != 100 || list.GroupsOmitted != 7 || !strings.Contains(text, "...  103 more names\n") {
		t.Errorf("%d groups, %d left out, in the text:\n%s", len(list.Groups), list.GroupsOmitted, text)
	}
}

// A list without spans has the reason.
func TestEmptyListSaysWhy(t *testing.T) {
	open := viewer.Status{Running: true, WindowEnd: epoch.Add(20 * time.Second)}
	unsampled, none := open, open
	unsampled.SelfCheck = viewer.SelfCheck{Checks: 1, SpansStarted: 120}
	none.SelfCheck = viewer.SelfCheck{Checks: 1, SpansStarted: 120, SpansSampled: 1}
	ended := newStore(t)
	endSpan(t, ended, "GET /", 0, 1)
	dropped := newStore(t, store.WithSampling(0))
	endSpan(t, dropped, "GET /", 0, 1)
	for want, test := range map[string]struct {
		s      store.Source
		status viewer.Status
	}{
		"no span has ended yet; samples come when the window ends at 12:00:20 UTC":                                                             {newStore(t), none},
		"120 spans started, none was sampled":                                                                                                  {newStore(t), unsampled},
		"no span has ended yet; Profiling is off: no samples come":                                                                             {newStore(t), viewer.Status{}},
		"no span meets the conditions; 1 span held":                                                                                            {ended, unsampled},
		"1 span ended, and WithSampling keeps none":                                                                                            {dropped, open},
		"no span is listed here: none meets the conditions, or the profiles were saved without their ids (labels=ids)":                         {&fileSource{}, open},
		"no span has been seen yet: programs must label their spans, as package spanprof does, and the agent must read labels (-t all,labels)": {newStore(t), viewer.Status{Running: true, Host: true}},
	} {
		h := viewer.Handler(test.s, viewer.WithStatus(func() viewer.Status { return test.status }))
		var list answer.SpanList
		getJSON(t, h, "/?filter=nothing&format=json", http.StatusOK, &list)
		if text := flat(t, h, "/?filter=nothing&format=text"); list.Empty != want || !strings.Contains(text, want) {
			t.Errorf("the list is empty because %q, want %q, in the text:\n%s", list.Empty, want, text)
		}
	}
	list := listOf(t, viewer.Handler(ended))
	if list.Empty != "" {
		t.Errorf("a list with a span is empty because %q", list.Empty)
	}
	running := newStore(t)
	_, span := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(running.SpanProcessor()))).Tracer("test").Start(t.Context(), "GET /")
	defer span.End()
	getJSON(t, viewer.Handler(running), "/?filter=nothing&format=json", http.StatusOK, &list)
	if !strings.HasPrefix(list.Empty, "1 span running, none has ended yet; ") {
		t.Errorf("the list is empty because %q", list.Empty)
	}
}
