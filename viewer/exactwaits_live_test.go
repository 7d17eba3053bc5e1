// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package viewer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// manyWaits is the JSON of package exectrace for a span that waited in several ways: twice in
// one place for two others, and once in an unknown place.
const manyWaits = `{"format":"go 1.26","start":"2026-11-01T12:00:00Z","id":"x","name":"GET /","durationNs":900000000,
"goroutines":[{"id":7,"startNs":0,"endNs":900000000,"states":[{"state":"mutex","durationNs":430000001},{"state":"network","durationNs":20000000},{"state":"running","durationNs":449999999}]}],
"waits":[
{"state":"mutex","durationNs":400000001,"count":3,"goroutine":7,"stack":[{"func":"sync.(*Mutex).Lock","file":"sync/mutex.go","line":1},{"func":"main.serve","file":"shop/main.go","line":5}],
"ended":[{"func":"sync.(*Mutex).Unlock","file":"sync/mutex.go","line":9},{"func":"main.refresh","file":"shop/cache.go","line":8}],
"blockers":[{"goroutine":8,"spanId":"0123456789abcdef","span":"refresh cache","durationNs":400000001,"did":[]}]},
{"state":"mutex","durationNs":30000000,"count":1,"goroutine":7,"child":"query","stack":[{"func":"sync.(*Mutex).Lock","file":"sync/mutex.go","line":1},{"func":"main.serve","file":"shop/main.go","line":5}],
"blockers":[{"goroutine":9,"function":"main.tick","durationNs":30000000,"did":[]}]},
{"state":"network","durationNs":20000000,"count":2,"goroutine":7},
{"state":"sleep","durationNs":5000,"count":1,"goroutine":11,"child":"query","stack":[{"func":"time.Sleep","file":"time.go","line":3},{"func":"main.serve","file":"shop/main.go","line":6}]}],
"waitsOmitted":4,"path":[]}`

// pprofOf returns the profile at an address, and what go tool pprof makes of it.
func pprofOf(t *testing.T, h http.Handler, address string, args ...string) (*profile.Profile, string) {
	t.Helper()
	w := get(t, h, address)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", address, w.Code, w.Body)
	}
	file := filepath.Join(t.TempDir(), "waits.pb.gz")
	if err := os.WriteFile(file, w.Body.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", append(append([]string{"tool", "pprof"}, args...), file)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p, string(out)
}

// sumsOf adds up count and wait of the samples by a label.
func sumsOf(p *profile.Profile, label string) map[string][2]int64 {
	sums := map[string][2]int64{}
	for _, s := range p.Sample {
		key := strings.Join(s.Label[label], ",")
		sums[key] = [2]int64{sums[key][0] + s.Value[0], sums[key][1] + s.Value[1]}
	}
	return sums
}

// The waits of a span are a profile. go tool pprof and the page's JSON have equal sums.
func TestWaitsAsPprof(t *testing.T) {
	s, root, child := newPair(t)
	if err := s.AddExactTimes(root, json.RawMessage(manyWaits)); err != nil {
		t.Fatal(err)
	}
	h := viewer.Handler(s)
	a := profileOf(t, h, byID(root))
	p, top := pprofOf(t, h, target("/waits", "query", byID(root)), "-top", "-unit=ns", "-nodefraction=0", "-symbolize=none")
	total := int64(0)
	for _, s := range p.Sample {
		total += s.Value[1]
	}
	if !strings.Contains(top, "Type: wait") || !strings.Contains(top, fmt.Sprintf("%dns total", total)) {
		t.Errorf("go tool pprof -top does not count %d ns of waits:\n%s", total, top)
	}
	if got := sumsOf(p, "state"); got["mutex"] != [2]int64{4, 430000001} {
		t.Errorf("count and wait by state: %v", got)
	}
	if got := sumsOf(p, "ended_by_span_name"); got["refresh cache"] != [2]int64{3, 400000001} || len(got) != 2 {
		t.Errorf("count and wait by the span that ended them: %v", got)
	}
	if p.TimeNanos != epoch.UnixNano() || p.DurationNanos != 900e6 || !slices.Equal(p.Comments, []string{"4 shorter waits are left out: the spans list their longest ones"}) {
		t.Errorf("from %d for %d ns, comments %q", p.TimeNanos, p.DurationNanos, p.Comments)
	}
	first := p.Sample[0]
	for key, want := range map[string]string{
		"profile_id": root, "span_id": root, "trace_id": a.Span.TraceID, "span_name": "GET /", "state": "mutex",
		"ended_by_span_name": "refresh cache", "ended_by_span_id": "0123456789abcdef",
	} {
		if got := first.Label[key]; !slices.Equal(got, []string{want}) {
			t.Errorf("label %s is %q, want %s", key, got, want)
		}
	}
	if got := p.Sample[1].Label; len(got["ended_by_span_id"]) > 0 || !slices.Equal(got["child_span_name"], []string{"query"}) {
		t.Errorf("labels of a wait that no span ended: %v", got)
	}
	if got := p.Sample[3].NumLabel["goroutine"]; !slices.Equal(got, []int64{11}) {
		t.Errorf("goroutine %v, want 11", got)
	}
	if f := first.Location[1].Line[0]; f.Function.Name != "main.serve" || f.Line != 5 || f.Function.Filename != "shop/main.go" {
		t.Errorf("caller of the first wait: %+v", f)
	}

	if w := get(t, h, target("/waits", "query", byID(root))); w.Header().Get("Content-Disposition") != fmt.Sprintf(`attachment; filename="shop.waits.%s.pb.gz"`, root) {
		t.Errorf("it is downloaded as %s", w.Header().Get("Content-Disposition"))
	}
	for address, want := range map[string]string{
		target("/waits", "query", byID(child)):                                    "no exact times of",
		target("/waits", "query", `.cpu`):                                         "no exact times of",
		target("/waits", "query", `.cpu{span_name="GET /",tenant="a"}`):           "by span_name alone",
		target("/waits", "query", byID(root), "format", "json"):                   "no json form",
		target("/waits", "query", `.cpu{profile_id="`+root+`",tenant="a"}`):       "no exact times of",
		target("/waits", "query", `.cpu{trace_id="`+strings.Repeat("0", 32)+`"}`): "no exact times of",
	} {
		if w := get(t, h, address); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s: status %d: %s", address, w.Code, w.Body)
		}
	}
	h = viewer.Handler(&fileSource{spans: []store.Span{{ProfileID: root, Name: "GET /", HasExactTimes: true}}})
	if gone := profileOf(t, h, byID(root)); gone.Span.ExactTimes != nil {
		t.Errorf("exact times of a source that has none: %s", gone.Span.ExactTimes)
	}
}

// The waits of spans of a name are those that their sum is made of.
func TestWaitsOfANameAsPprof(t *testing.T) {
	s, root, child := newPair(t)
	for id, times := range map[string]string{root: manyWaits, child: strings.ReplaceAll(exactTimes, "2026-01-02T03:04:05.01Z", "2026-11-01T12:00:00.5Z")} {
		if err := s.AddExactTimes(id, json.RawMessage(times)); err != nil {
			t.Fatal(err)
		}
	}
	h := viewer.Handler(s)
	query := `.cpu{span_name="GET /"}`
	p, _ := pprofOf(t, h, target("/waits", "query", query), "-raw", "-symbolize=none")
	if got := sumsOf(p, "ended_by_span_name")["refresh cache"]; got != [2]int64{3, 400000001} {
		t.Errorf("waits for refresh cache: count and ns %v", got)
	}
	if got := sumsOf(p, "profile_id"); len(got) != 1 || got[root] == [2]int64{} {
		t.Errorf("count and ns by span: %v, want those of %s alone", got, root)
	}
	if w := get(t, h, target("/waits", "query", query, "until", "1")); w.Code != http.StatusBadRequest {
		t.Errorf("of another time: status %d", w.Code)
	}
}
