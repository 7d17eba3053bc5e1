// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func newStore(t *testing.T, opts ...store.Option) *store.Store {
	t.Helper()
	s, err := store.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStatusOfWhatDoesNotRun(t *testing.T) {
	full, bare := newTestStore(t), newStore(t)
	query := target("/", "query", byID(slowID))
	for _, test := range []struct {
		name     string
		store    *store.Store
		status   viewer.Status
		want     string
		canFlush bool
	}{
		{"running", full, viewer.Status{Running: true}, "", true},
		{"paused", full, viewer.Status{Running: true, Message: "Another CPU profile runs."}, "Another CPU profile runs.", true},
		{"stopped", full, viewer.Status{}, "Profiling has stopped: no more samples come.", false},
		{"never started", bare, viewer.Status{}, "Profiling is off: no samples come.", false},
		{"disabled", bare, viewer.Status{Message: "Profiling is disabled."}, "Profiling is disabled.", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := viewer.Handler(test.store,
				viewer.WithFlush(func(context.Context) error { return nil }),
				viewer.WithStatus(func() viewer.Status { return test.status }))
			for _, address := range []string{"/?", query + "&", target("/comparison", "query", byID(slowID)) + "&"} {
				var got struct{ Status answer.Status }
				getJSON(t, h, address+"format=json", http.StatusOK, &got)
				s := got.Status
				if s.Message != test.want || s.CanFlush != test.canFlush || s.Running == nil || *s.Running != test.status.Running {
					t.Errorf("GET %s: %+v, want %q and flush %t", address, s, test.want, test.canFlush)
				}
				text := get(t, h, address+"format=text").Body.String()
				if !strings.Contains(text, strings.TrimSuffix(test.want, ".")) {
					t.Errorf("GET %s: %q is not in\n%s", address, test.want, text)
				}
			}
		})
	}
	// Without a status function the viewer does not guess.
	list := listOf(t, viewer.Handler(full, viewer.WithFlush(func(context.Context) error { return nil })))
	if list.Status.Running != nil || list.Status.Message != "" || !list.Status.CanFlush {
		t.Errorf("without a status function: %+v", list.Status)
	}
}

func TestBaselineOfSeveralNames(t *testing.T) {
	s := newStore(t)
	b := newProfileBuilder()
	add := func(id, trace, name string) {
		labels := map[string][]string{"profile_id": {id}, "trace_id": {trace}}
		if name != "" {
			labels["span_name"] = []string{name}
		}
		b.add(5, labels, "main.serve")
	}
	add("job", "two names", "GET /a")
	add("job", "two names", "GET /b")
	add("b1", "with and without", "GET /a")
	add("b2", "with and without", "")
	add("b1", "one name", "GET /a")
	add("b2", "no name", "")
	exportSecond(t, s, 0, b)
	h := viewer.Handler(s)
	for query, want := range map[string]*answer.Baseline{
		`{trace_id="two names"}`:                      nil,
		`{profile_id="job"}`:                          nil,
		`{profile_id=~"b.*"}`:                         nil,
		`{trace_id="with and without"}`:               nil,
		`{trace_id="one name"}`:                       {Query: `.cpu{span_name="GET /a"}`, Meaning: "all work labelled GET /a"},
		`{trace_id="no name"}`:                        {Query: `.cpu{}`, Meaning: "the whole process"},
		`{trace_id="two names",span_name="GET /b"}`:   {Query: `.cpu{span_name="GET /b"}`, Meaning: "all spans of this name"},
		`{trace_id="no name",span_name!="GET /late"}`: {Query: `.cpu{span_name!="GET /late"}`, Meaning: "all that meets the other conditions"},
	} {
		a := profileOf(t, h, query)
		switch got := a.Baseline; {
		case a.Total == 0:
			t.Errorf("%s selects nothing", query)
		case (got == nil) != (want == nil):
			t.Errorf("%s: baseline %+v, want %+v", query, got, want)
		case want != nil && (got.Query != want.Query || got.Meaning != want.Meaning):
			t.Errorf("%s: baseline %+v, want %+v", query, got, want)
		}
	}
}

func TestUnnamedSpan(t *testing.T) {
	s := newStore(t)
	id := endSpan(t, s, "", 1, 3)
	b := newProfileBuilder()
	b.add(5, map[string][]string{"profile_id": {id}, "span_id": {id}}, "main.serve")
	exportSecond(t, s, 0, b)
	h := viewer.Handler(s)
	list := listOf(t, h)
	if len(list.Spans) != 1 || len(list.Groups) != 0 || list.Service != "shop" {
		t.Errorf("got %+v", list)
	}
	if text := get(t, h, "/?format=text").Body.String(); !strings.Contains(text, "  "+id+"  (unnamed)\n") {
		t.Errorf("the list is\n%s", text)
	}
	a := profileOf(t, h, byID(id))
	if a.Title != "(unnamed)" || a.Baseline.Query != "shop.cpu{}" || a.Baseline.Meaning != "the whole process" {
		t.Errorf("title %q, baseline %+v", a.Title, a.Baseline)
	}
}

// An unknown id may belong to a span that is still running.
func TestUnknownIDMayBeRunning(t *testing.T) {
	s := newTestStore(t)
	address := target("/", "query", `.cpu{profile_id="ffffffffffffffff"}`, "format", "json")
	var a answer.Profile
	getJSON(t, viewer.Handler(s), address, http.StatusOK, &a)
	if a.Title != "Profile ffffffffffffffff" {
		t.Errorf("title %q", a.Title)
	}
	if !strings.Contains(a.Empty, "still running") || !a.Waiting {
		t.Errorf("waiting %t, empty because %q", a.Waiting, a.Empty)
	}
	a = answer.Profile{}
	getJSON(t, viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{} })), address, http.StatusOK, &a)
	if strings.Contains(a.Empty, "still running") || !strings.Contains(a.Empty, "has stopped") || a.Waiting {
		t.Errorf("stopped: waiting %t, empty because %q", a.Waiting, a.Empty)
	}
}
