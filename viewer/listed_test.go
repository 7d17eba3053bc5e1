// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// The time line of a list is about the work that the list's conditions are about, and says what
// of them it leaves aside.
func TestWorkOfAList(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	for _, test := range []struct {
		params     []string
		work, note string
		total      int64
	}{
		{nil, "", "", 0},
		{[]string{"name", "GET /search"}, `.cpu{span_name="GET /search"}`, "", 63e7},
		{[]string{"filter", "SEARCH", "min", "1ms"}, `.cpu{span_name="GET /search"}`, "whatever the length", 63e7},
		{[]string{"filter", "e"}, `.cpu{span_name=~"GET /search|<img src=x onerror=\"alert\\(1\\)\">|GET /late"}`, "", 66e7},
		{[]string{"filter", "worse"}, "", "whatever the text", 0},
		{[]string{"name", "unknown"}, "", "whatever the name", 0},
		{[]string{"name", "GET /search", "filter", "worse"}, "", "whatever the name and the text", 0},
		{[]string{"filter", "se"}, `.cpu{span_name="GET /search"}`, "whatever the text in errors and attributes", 63e7},
		{[]string{"filter", "sr"}, `.cpu{span_name="<img src=x onerror=\"alert(1)\">"}`, "", 3e7},
		{[]string{"error", "true"}, "", "whatever errors", 0},
		{[]string{"service", "shop"}, `.cpu{service_name="shop"}`, "", 77e7},
		{[]string{"trace", "010000000000000000000000000000A1"}, `.cpu{trace_id="010000000000000000000000000000a1"}`, "", 55e7},
		{[]string{"attribute", "http.route=~/x"}, `.cpu{span.http.route=~"/x"}`, "", 0},
	} {
		var list answer.SpanList
		getJSON(t, h, target("/", append(test.params, "format", "json")...), http.StatusOK, &list)
		if list.Work != test.work || list.WorkNote != test.note {
			t.Errorf("%v: %s (%s), want %s (%s)", test.params, list.Work, list.WorkNote, test.work, test.note)
		}
		if list.Work == "" {
			continue
		}
		var line answer.Timeline
		getJSON(t, h, target("/timeline", "query", list.Work), http.StatusOK, &line)
		total := int64(0)
		for _, b := range line.Buckets {
			total += b.Rest
			for _, v := range b.Values {
				total += v
			}
		}
		if total != test.total {
			t.Errorf("%v: the time line has %d, want %d", test.params, total, test.total)
		}
	}
}

// Of very many names those with most CPU time are asked for.
func TestWorkOfManyNames(t *testing.T) {
	s := newStore(t)
	b := newProfileBuilder()
	for i := range 70 {
		b.add(int64(100-i), map[string][]string{"profile_id": {fmt.Sprint("job ", i)}, "span_name": {fmt.Sprint("job of kind ", i)}}, "main.work")
	}
	exportSecond(t, s, 0, b)
	var list answer.SpanList
	getJSON(t, viewer.Handler(s), target("/", "filter", "KIND", "format", "json"), http.StatusOK, &list)
	if list.WorkNote != "20 more names left out" {
		t.Errorf("the note is %q", list.WorkNote)
	}
	var p answer.Profile
	getJSON(t, viewer.Handler(s), target("/", "query", list.Work, "format", "json"), http.StatusOK, &p)
	if want := int64(50*100-49*50/2) * 1e7; p.Total != want {
		t.Errorf("%d of CPU time, want %d", p.Total, want)
	}
}
