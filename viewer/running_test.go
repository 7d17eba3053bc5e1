// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func TestRunning(t *testing.T) {
	waits := viewer.RunningStack{Goroutines: 2, Frames: []runtime.Frame{{Function: "main.wait", File: "/src/main.go", Line: 7}}}
	h := viewer.Handler(newTestStore(t), viewer.WithRunning(func() []viewer.Running {
		return []viewer.Running{
			{ID: "00f067aa0ba902b7", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Name: "GET /search", Start: time.Now().Add(-time.Hour), Stacks: []viewer.RunningStack{waits, waits}},
			{ID: "job 7", Stacks: []viewer.RunningStack{waits}},
		}
	}))
	var got answer.Running
	getJSON(t, h, "/running?format=json", http.StatusOK, &got)
	if age := time.Duration(got.Roots[0].AgeNs); age < 59*time.Minute || age > 61*time.Minute {
		t.Errorf("got an age of %v, want an hour", age)
	}
	got.Roots[0].AgeNs = 0
	stack := answer.Stack{Goroutines: 2, Frames: []string{"main.wait  main.go:7"}}
	want := []answer.Root{
		{ProfileID: "00f067aa0ba902b7", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Name: "GET /search", Goroutines: 4, Stacks: []answer.Stack{{Goroutines: 4, Frames: stack.Frames}}, Query: `.cpu{profile_id="00f067aa0ba902b7"}`},
		{ProfileID: "job 7", Goroutines: 2, Stacks: []answer.Stack{stack}, Query: `.cpu{profile_id="job 7"}`},
	}
	if diff := cmp.Diff(want, got.Roots, cmpopts.IgnoreUnexported(answer.Root{})); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	if !got.Status.CanListRunning || !strings.Contains(got.Note, "Labels of pprof.Do have no age") {
		t.Errorf("got status %+v and note %q", got.Status, got.Note)
	}
	text := get(t, h, "/running?format=text").Body.String()
	for _, want := range []string{"GET /search  4 goroutines  3600 s  .cpu{", "\njob 7  2 goroutines  .cpu{profile_id=\"job 7\"}\n    main.wait  main.go:7\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// A long list is cut, and the rest counted.
func TestRunningIsBounded(t *testing.T) {
	h := viewer.Handler(newTestStore(t), viewer.WithRunning(func() (all []viewer.Running) {
		for i := range 203 {
			all = append(all, viewer.Running{ID: fmt.Sprint(i)})
		}
		return all
	}))
	var got answer.Running
	getJSON(t, h, "/running?format=json", http.StatusOK, &got)
	if len(got.Roots) != 200 || !strings.HasSuffix(got.Note, " 3 more local roots left out.") {
		t.Errorf("got %d roots, note %q", len(got.Roots), got.Note)
	}
}

// Without the option there is no such page, and no link to it.
func TestRunningWithoutOption(t *testing.T) {
	h := viewer.Handler(newTestStore(t), viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true} }))
	var refused struct{ Error string }
	getJSON(t, h, "/running?format=json", http.StatusBadRequest, &refused)
	var log answer.Log
	getJSON(t, h, "/log?format=json", http.StatusOK, &log)
	if !strings.Contains(refused.Error, "viewer.WithRunning") || log.Status.CanListRunning {
		t.Errorf("got %q, status %+v", refused.Error, log.Status)
	}
}

// Only the page and programs cause the garbage collection of a search for leaks, by a POST. It
// frees samples, which an open view would keep.
func TestLeaksFromOtherSites(t *testing.T) {
	searches := 0
	source := newFile(t)
	h := viewer.Handler(source, viewer.WithAllowedHosts("*"), viewer.WithLeaks(func(w io.Writer) error {
		searches++
		if source.open > 0 {
			t.Error("a view is open during the search")
		}
		return pprof.Lookup("goroutine").WriteTo(w, 0)
	}))
	for _, tt := range []struct {
		method, origin string
		want           int
	}{
		{"POST", "", http.StatusOK},
		{"POST", "http://shop.internal:6060", http.StatusOK},
		{"POST", "http://evil.example", http.StatusForbidden},
		{"GET", "", http.StatusMethodNotAllowed},
	} {
		searches = 0
		r := httptest.NewRequest(tt.method, "http://shop.internal:6060/debug/leaks?format=json", nil)
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if w := do(t, h, r); w.Code != tt.want || (searches == 1) != (tt.want == http.StatusOK) {
			t.Errorf("%+v: status %d after %d searches: %.99s", tt, w.Code, searches, w.Body)
		}
	}
}
