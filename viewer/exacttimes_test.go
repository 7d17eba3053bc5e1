// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// exactTimes is what package exectrace stores, of a span that began 10 ms after its record.
const exactTimes = `{"format":"go 1.26","start":"2026-01-02T03:04:05.01Z","id":"x","name":"GET /","startNs":1,"durationNs":50000000,
"goroutines":[{"id":7,"startNs":0,"endNs":50000000,"states":[{"state":"mutex","durationNs":30000000},{"state":"running","durationNs":19000000}]}],
"holes":[{"reason":"the trace does not tell","startNs":49000000,"durationNs":1000000}],
"waits":[{"state":"mutex","durationNs":30000000,"count":1,"goroutine":7,"stack":[{"func":"sync.(*Mutex).Lock","file":"sync/mutex.go","line":1},{"func":"main.serve","file":"shop/main.go","line":5}],
"blockers":[{"goroutine":8,"spanId":"0123456789abcdef","span":"refresh cache","durationNs":30000000,"did":[{"state":"sleep","durationNs":30000000,"child":"load from disk"}]}]}],"path":[]}`

func TestExactTimes(t *testing.T) {
	s, root, child := newTimedFamily(t)
	if err := s.AddExactTimes(root, json.RawMessage(exactTimes)); err != nil {
		t.Fatal(err)
	}
	h := viewer.Handler(s)
	var a answer.Profile
	getJSON(t, h, target("/", "query", byID(root), "format", "json"), http.StatusOK, &a)
	var got, want any
	if err := json.Unmarshal(a.Span.ExactTimes, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(exactTimes), &want); err != nil {
		t.Fatal(err)
	}
	if !a.Span.HasExactTimes || !reflect.DeepEqual(got, want) {
		t.Errorf("exact times %t: %s", a.Span.HasExactTimes, a.Span.ExactTimes)
	}
	text := get(t, h, target("/", "query", byID(root), "format", "text")).Body.String()
	for _, want := range []string{
		"exactly mutex 30.0 ms, running 19.0 ms",
		"by the trace it took 50.0 ms from 2026-01-02T03:04:05.01Z on: the program gave it other times",
		"1.00 ms: the trace does not tell",
		`30.0 ms mutex at main.serve (main.go:5), ended by span "refresh cache" 0123456789abcdef: sleep 30.0 ms in load from disk`,
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) { // lines are broken
			t.Errorf("no %q in\n%s", want, text)
		}
	}

	// They are the answer.
	if want := ": 19.0 ms on a CPU, 951 ms not sampled, 30.0 ms mutex"; a.Answer == nil || !strings.Contains(a.Answer.Sentence, want) {
		t.Errorf("the answer is %+v, want %q", a.Answer, want)
	}

	var other answer.Profile
	getJSON(t, h, target("/", "query", byID(child), "format", "json"), http.StatusOK, &other)
	if other.Span.HasExactTimes || len(other.Span.ExactTimes) > 0 {
		t.Errorf("exact times of the child %t: %s", other.Span.HasExactTimes, other.Span.ExactTimes)
	}
	var list answer.SpanList
	getJSON(t, h, target("/", "format", "json"), http.StatusOK, &list)
	for _, span := range list.Spans {
		if span.HasExactTimes != (span.ProfileID == root) || len(span.ExactTimes) > 0 {
			t.Errorf("in the list, span %s has exact times %t: %s", span.ProfileID, span.HasExactTimes, span.ExactTimes)
		}
	}
}

// What spans of a name waited for is summed up, by the spans that ended the waits.
func TestExactTimesByName(t *testing.T) {
	s, root, _ := newTimedFamily(t)
	h := viewer.Handler(s)
	byName := target("/", "query", `.cpu{span_name="GET /"}`, "format", "json")
	var none answer.Profile
	getJSON(t, h, byName, http.StatusOK, &none)
	if none.ExactByName != nil {
		t.Errorf("without exact times: %+v", none.ExactByName)
	}
	if err := s.AddExactTimes(root, json.RawMessage(exactTimes)); err != nil {
		t.Fatal(err)
	}
	var a answer.Profile
	getJSON(t, h, byName, http.StatusOK, &a)
	x := a.ExactByName
	if x == nil || x.Spans != 1 || x.DurationNs != 50e6 || len(x.States) != 2 || x.States[0].DurationNs != 30e6 || len(x.Blocked) != 1 {
		t.Fatalf("exact times by name: %+v", x)
	}
	if b := x.Blocked[0]; b.State != "mutex" || b.Span != "refresh cache" || b.DurationNs != 30e6 || b.Count != 1 || b.Query != `.cpu{span_name="refresh cache"}` {
		t.Errorf("blocked: %+v", b)
	}
	text := strings.Join(strings.Fields(get(t, h, target("/", "query", `.cpu{span_name="GET /"}`, "format", "text")).Body.String()), " ")
	if want := "exactly in 1 slow span with exact times: mutex 60.0%, running 38.0% 60.0% waits for locks held by refresh cache"; !strings.Contains(text, want) {
		t.Errorf("no %q in %s", want, text)
	}
	for query, want := range map[string]bool{
		`.wall{service_name="shop",span_name="GET /"}`:      true,
		`.cpu{service_name="cart",span_name="GET /"}`:       false,
		`.cpu{span_name="other"}`:                           false,
		`.cpu{span_name="GET /",tenant="a"}`:                false,
		`.cpu{span_name="GET /",service_version="v1"}`:      false,
		`.cpu{span_name="GET /",span.db.query.text="x"}`:    false,
		`.cpu{span_name="GET /",span_name!="other"}`:        false,
		`.inuse_space{span_name="GET /"}`:                   false,
		`.cpu{span_name="GET /",profile_id="` + root + `"}`: false,
	} {
		var other answer.Profile
		getJSON(t, h, target("/", "query", query, "format", "json"), http.StatusOK, &other)
		if (other.ExactByName != nil) != want {
			t.Errorf("%s has %+v", query, other.ExactByName)
		}
	}
}
