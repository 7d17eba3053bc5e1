// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func TestSpanList(t *testing.T) {
	h := viewer.Handler(newTestStore(t), viewer.WithStatus(func() viewer.Status {
		return viewer.Status{Running: true, WindowEnd: epoch.Add(10 * time.Second), Counters: []viewer.Counter{{Name: "dropped", Value: 3}}}
	}))
	var list answer.SpanList
	getJSON(t, h, "/?format=json&order=cpu", http.StatusOK, &list)
	if list.Service != "shop" || len(list.Spans) != 6 {
		t.Fatalf("got %d spans of %q, want 6 of shop", len(list.Spans), list.Service)
	}
	first := list.Spans[0]
	want := answer.Span{
		Span: store.Span{
			ProfileID: slowID, TraceID: "010000000000000000000000000000a1", Name: "GET /search", Service: "shop",
			Start: epoch.Add(time.Second), Duration: 8e8, CPU: 55e7, CPUSamples: 55, CPUInclusive: 55e7, SamplesHeld: 55, LocalRoot: true, Complete: true,
		},
		Coverage: "whole",
		Query:    `shop.cpu{profile_id="` + slowID + `"}`,
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first span (-want +got):\n%s", diff)
	}
	if list.Status == nil || list.Status.Running == nil || !*list.Status.Running || len(list.Status.Counters) != 1 {
		t.Errorf("status is %+v", list.Status)
	}
	if g := list.Groups[0]; g.Name != "GET /search" || g.Spans != 3 || g.CPU != 63e7 || g.Query != `shop.cpu{span_name="GET /search"}` {
		t.Errorf("first group is %+v", g)
	}

	getJSON(t, h, target("/", "format", "json", "name", "GET /search", "order", "slowest", "limit", "2"), http.StatusOK, &list)
	if len(list.Spans) != 2 || list.Spans[0].ProfileID != slowID || list.Spans[1].ProfileID != fastID {
		t.Errorf("the two slowest of a name are %+v", list.Spans)
	}
}

func TestHostileNamesStayData(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for _, address := range []string{"/?format=json", target("/", "query", `.cpu{profile_id="`+evilID+`"}`, "format", "json")} {
		body := get(t, h, address).Body.String()
		if strings.Contains(body, "<img") || !strings.Contains(body, `\u003cimg`) {
			t.Errorf("GET %s: the name is not escaped in %s", address, body)
		}
	}
	// Pages never hold data.
	w := get(t, h, target("/", "query", `.cpu{span_name="`+strings.ReplaceAll(evilName, `"`, `\"`)+`"}`))
	if strings.Contains(w.Body.String(), "onerror") {
		t.Error("the page holds a span's name")
	}
}

func TestProfileOfSpan(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	a := profileOf(t, h, `shop.cpu{profile_id="`+slowID+`"}`)
	if a.Total != 55e7 || a.Samples != 55 || a.ProfileIDs != 1 || a.Windows != 1 || a.SampleType != "cpu" || a.Unit != "nanoseconds" {
		t.Errorf("got %+v", a)
	}
	if a.Note != "" || a.Empty != "" || a.Span == nil || a.Baseline == nil || a.Baseline.Query != `shop.cpu{span_name="GET /search"}` || a.Baseline.Spans != 3 {
		t.Errorf("note %q, empty %q, span %+v, baseline %+v", a.Note, a.Empty, a.Span, a.Baseline)
	}
	leaf := 0
	for leaf+1 < a.Flame.Len() && a.Flame.Parent[leaf+1] == 1 {
		leaf++
	}
	if a.Flame.Total[0] != 55e7 || a.Flame.Name(leaf) != "regexp.step" {
		t.Errorf("flame of %d ends in %s", a.Flame.Total[0], a.Flame.Name(leaf))
	}

	// span_id selects the same, and other types of ids have baselines too.
	a = profileOf(t, h, `{span_id="`+slowID+`"}`)
	if a.Total != 55e7 || a.Span == nil {
		t.Errorf("by span_id: total %d", a.Total)
	}
	a = profileOf(t, h, `{trace_id="010000000000000000000000000000a2"}`)
	if a.Total != 8e7 || a.Baseline.Query != `.cpu{span_name="GET /search"}` {
		t.Errorf("by trace_id: total %d, baseline %+v", a.Total, a.Baseline)
	}
}

func TestEmptySaysWhy(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status {
		return viewer.Status{Running: true, WindowEnd: epoch.Add(20 * time.Second)}
	}))
	for _, test := range []struct{ query, from, until, want, baseline string }{
		{query: `.cpu{profile_id="` + shortID + `"}`, want: "it took 400 µs, and two samples are 10 ms of CPU time apart", baseline: `.cpu{span_name="GET /search"}`},
		{query: `.cpu{profile_id="` + openID + `"}`, want: "samples come when the window ends at 12:00:20 UTC"},
		{query: `.cpu{profile_id="ffffffffffffffff"}`, want: "nothing here has the id", baseline: `.cpu{}`},
		{query: `.cpu{profile_id="` + slowID + `",user="7"}`, want: "55 samples, but none"},
		{query: `.cpu{span_name="nobody"}`, want: "no sample in 1 window meets"},
		{query: `.cpu{}`, from: "now-1h", want: "no cpu profile covers this time; samples come when the window ends at 12:00:20 UTC"},
		{query: `.cpu{}`, until: "1793530000", want: "no cpu profile covers this time"},
		{query: `.inuse_space{profile_id="` + slowID + `"}`, want: "heap profiles carry no label"},
	} {
		var a answer.Profile
		getJSON(t, h, target("/", "query", test.query, "from", test.from, "until", test.until, "format", "json"), http.StatusOK, &a)
		if !strings.Contains(a.Empty, test.want) {
			t.Errorf("%s: empty because %q, want %q", test.query, a.Empty, test.want)
		}
		got := ""
		if a.Baseline != nil {
			got = a.Baseline.Query
		}
		if got != test.baseline {
			t.Errorf("%s: baseline %s, want %s", test.query, got, test.baseline)
		}
	}
}

func TestComparison(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	left, right := `shop.cpu{span_name="GET /search"}`, `shop.cpu{profile_id="`+slowID+`"}`
	for _, page := range []string{"/comparison", "/comparison-diff"} {
		var c answer.Comparison
		getJSON(t, h, target(page, "query", left, "leftQuery", left, "leftFrom", "1793534401", "leftUntil", "1793534402", "rightQuery", right, "format", "json"), http.StatusOK, &c)
		if c.Left.Total != 63e7 || c.Right.Total != 55e7 || c.Right.Span == nil {
			t.Fatalf("%s: totals %d and %d", page, c.Left.Total, c.Right.Total)
		}
		want := flame.DiffRow{Name: "json.Marshal", LeftSelf: 11e7, LeftTotal: 11e7, RightSelf: 5e7, RightTotal: 5e7, Delta: -0.083694}
		var got flame.DiffRow
		for _, d := range c.Diff {
			if d.Name == want.Name {
				got = d
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", page, diff)
		}
	}
	// Profiles of two types have no differences in any form.
	for _, form := range []string{"html", "json", "text", "folded", "pprof"} {
		if w := get(t, h, target("/comparison", "leftQuery", ".cpu", "rightQuery", ".inuse_space", "format", form)); w.Code != http.StatusBadRequest {
			t.Errorf("%s of two types: status %d", form, w.Code)
		}
	}
	// A side without a query takes the page's.
	var c answer.Comparison
	getJSON(t, h, target("/comparison", "query", left, "rightQuery", right, "format", "json"), http.StatusOK, &c)
	if c.Left.Query != left || c.Right.Query != right {
		t.Errorf("sides are %s and %s", c.Left.Query, c.Right.Query)
	}
}

func TestText(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	right := `shop.cpu{profile_id="` + slowID + `"}`
	for name, address := range map[string]string{
		"span.txt":       target("/", "query", right, "format", "text"),
		"empty.txt":      target("/", "query", `shop.cpu{profile_id="`+shortID+`"}`, "format", "text"),
		"comparison.txt": target("/comparison-diff", "leftQuery", `shop.cpu{span_name="GET /search"}`, "rightQuery", right, "format", "text"),
		"spans.txt":      "/?format=text&order=slowest",
		"nothing.txt":    target("/", "query", ".mutex_duration", "format", "text"),
		"span.folded":    target("/", "query", right, "format", "folded"),
	} {
		w := get(t, h, address)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("GET %s: status %d, %s", address, w.Code, w.Header().Get("Content-Type"))
		}
		golden(t, name, w.Body.String())
	}
}

func TestBadRequests(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for _, test := range []struct {
		address string
		want    string
		column  int
	}{
		{target("/", "query", "shop.cpu{id=abc}"), "expected a value in double quotes or backquotes", 13},
		{target("/", "query", "shop.gpu{}"), ".inuse_objects", 6},
		{target("/", "query", "{}", "from", "yesterday"), `from: time "yesterday": expected unix seconds`, 0},
		{target("/", "query", "{}", "from", "1793534401", "until", "1793534301"), "until lies before from", 0},
		{target("/", "order", "best"), "newest, slowest and cpu", 0},
		{target("/", "limit", "-1"), "above 0", 0},
		{target("/", "limit", "1000000"), "at most 10000 spans", 0},
		{target("/", "min", "fast"), `min "fast": expected a duration`, 0},
		{target("/", "max", "1s"), "max: lists have no upper bound", 0},
		{target("/", "from", "soon"), `from: time "soon"`, 0},
		{target("/", "attribute", "db.query.text"), `attribute "db.query.text": expected a condition`, 0},
		{target("/", "attribute", "=x"), `attribute "=x": expected a condition`, 0},
		{target("/", "attribute", "tenant!=x"), `attribute "tenant!=x": expected a condition`, 0},
		{target("/", "attribute", "tenant=~x"), `attribute "tenant=~x": expected a condition`, 0},
		{target("/", "error", "yes"), `error "yes": expected true or false`, 0},
		{target("/", "flat", "1"), `flat "1": expected true or false`, 0},
		{target("/", "query", "{}", "labels", "id"), `labels "id": expected ids or false`, 0},
		{target("/profile", "x", "y"), "query is missing", 0},
		{target("/comparison"), "leftQuery is missing", 0},
		{target("/comparison", "leftQuery", "{}"), "rightQuery is missing", 0},
		{target("/comparison", "leftQuery", "{", "rightQuery", "{}"), "leftQuery: flameql: column 2", 2},
		{target("/comparison", "leftQuery", ".alloc_space", "rightQuery", ".cpu"), "profiles of one type", 0},
		{`/?query={a="b;c"}`, "semicolon as %3B", 0},
		{`/?query=%zz`, `invalid URL escape "%zz"`, 0},
		{`/?name=a;b`, "malformed URL", 0},
		{`/comparison?leftQuery={}&rightQuery=%`, "malformed URL", 0},
	} {
		var e struct {
			Error  string
			Column int
		}
		address := test.address + "&format=json"
		getJSON(t, h, address, http.StatusBadRequest, &e)
		if !strings.Contains(e.Error, test.want) || e.Column != test.column {
			t.Errorf("GET %s: %+v, want column %d and %q", test.address, e, test.column, test.want)
		}
		// A browser gets the page with the same status, a terminal text.
		if w := get(t, h, test.address+"&format=html"); w.Code != http.StatusBadRequest && test.column > 0 || !strings.Contains(w.Body.String(), "<!doctype html>") {
			t.Errorf("GET %s as HTML: status %d", test.address, w.Code)
		}
		if w := get(t, h, test.address+"&format=text"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("GET %s as text: status %d: %s", test.address, w.Code, w.Body)
		}
	}
	for address, want := range map[string]string{
		target("/", "format", "xml"):       "html, frozen, json, text, folded and pprof",
		target("/log", "format", "pprof"):  "no pprof form",
		target("/log", "format", "folded"): "no folded form",
		"/?format=pprof":                   "no pprof form",
		"/timeline?query=.cpu&format=text": "no text form",
	} {
		if w := get(t, h, address); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s: status %d: %s", address, w.Code, w.Body)
		}
	}
}

func TestMounting(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	mux := http.NewServeMux()
	mux.Handle("/debug/spanprof/", h)
	mux.Handle("/stripped/", http.StripPrefix("/stripped/", h))
	mux.Handle("/half/", http.StripPrefix("/half", h))
	mux.HandleFunc("/", h.ServeHTTP)
	for _, prefix := range []string{"", "/debug/spanprof", "/stripped", "/half"} {
		for page, contentType := range map[string]string{
			"/":             "text/html; charset=utf-8",
			"/?format=json": "application/json",
			"/app.js":       "text/javascript; charset=utf-8",
			"/style.css":    "text/css; charset=utf-8",
		} {
			w := get(t, mux, prefix+page)
			if ct := w.Header().Get("Content-Type"); ct != contentType {
				t.Errorf("GET %s%s: status %d, %s, want %s", prefix, page, w.Code, ct, contentType)
			}
		}
		if w := get(t, mux, prefix+"/nowhere"); w.Code != http.StatusNotFound {
			t.Errorf("GET %s/nowhere: status %d", prefix, w.Code)
		}
	}
	if w := get(t, mux, "/index.html"); w.Code != http.StatusNotFound {
		t.Errorf("GET /index.html: status %d", w.Code)
	}
}

// A path without its final slash leads to the pages if the mux has the path with one.
// Otherwise the answer shows the line to write.
func TestMountingWithoutSlash(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	mux := http.NewServeMux()
	mux.Handle("/both", h)
	mux.Handle("localhost/both/", h)
	mux.Handle("/half", http.StripPrefix("/half", h))
	mux.Handle("/half/", http.StripPrefix("/half", h))
	mux.Handle("GET /exact", h)
	mux.Handle("/debug/spanprof", h)
	mux.Handle("/stripped", http.StripPrefix("/stripped", h))
	mux.HandleFunc("/", h.ServeHTTP)
	for address, want := range map[string]string{
		"/both":            "./both/",
		"/half?query=.cpu": "./half/?query=.cpu",
		"/exact":           `mux.Handle("GET /exact/", h)`,
		"/debug/spanprof":  `mux.Handle("/debug/spanprof/", h)`,
		"/stripped":        `mux.Handle("/stripped/", h)`,
	} {
		server := &http.Server{Handler: mux}
		w := do(t, mux, httptest.NewRequestWithContext(context.WithValue(t.Context(), http.ServerContextKey, server), http.MethodGet, address, nil))
		got := w.Header().Get("Location") + w.Body.String()
		if isPattern := strings.HasPrefix(want, "mux"); !strings.Contains(got, want) || isPattern != (w.Code == http.StatusNotFound) {
			t.Errorf("GET %s: status %d, want %s: %s", address, w.Code, want, got)
		}
	}
	// Another router.
	if w := get(t, http.StripPrefix("/other", h), "/other?query=.cpu"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "./other/?query=.cpu" {
		t.Errorf("status %d to %q", w.Code, w.Header().Get("Location"))
	}
}

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func TestHeaders(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for _, address := range []string{"/", "/?format=json", "/?format=xml", "/app.js", "/nowhere", "/profile?query={}", "/flush"} {
		header := get(t, h, address).Header()
		if header.Get("Content-Security-Policy") != contentPolicy || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cross-Origin-Opener-Policy") != "same-origin" {
			t.Errorf("GET %s: headers %v", address, header)
		}
		want := "no-store"
		if address == "/app.js" {
			want = "no-cache"
		}
		if got := header.Get("Cache-Control"); got != want {
			t.Errorf("GET %s: Cache-Control %q, want %q", address, got, want)
		}
	}
}

func TestMethods(t *testing.T) {
	h := viewer.Handler(newTestStore(t), viewer.WithFlush(func(context.Context) error { return nil }))
	for _, test := range []struct{ method, address, allow string }{
		{http.MethodPost, "/", "GET, HEAD"},
		{http.MethodDelete, "/comparison", "GET, HEAD"},
		{http.MethodPut, "/app.js", "GET, HEAD"},
		{http.MethodGet, "/flush", "POST"},
	} {
		w := do(t, h, httptest.NewRequest(test.method, test.address, nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != test.allow {
			t.Errorf("%s %s: status %d, allow %q", test.method, test.address, w.Code, w.Header().Get("Allow"))
		}
	}
	if w := do(t, h, httptest.NewRequest(http.MethodHead, "/?format=json", nil)); w.Code != http.StatusOK {
		t.Errorf("HEAD: status %d", w.Code)
	}
}

func TestFlush(t *testing.T) {
	s := newTestStore(t)
	flushed := 0
	var fail error
	h := viewer.Handler(s, viewer.WithFlush(func(context.Context) error {
		flushed++
		return fail
	}))
	post := func(h http.Handler, headers map[string]string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/debug/flush", nil)
		for k, v := range headers {
			r.Header.Set(k, v)
		}
		return do(t, h, r)
	}
	for _, headers := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		{"Sec-Fetch-Site": "same-site"},
		{"Origin": "https://evil.example"},
		{"Origin": "null"},
	} {
		if w := post(h, headers); w.Code != http.StatusForbidden {
			t.Errorf("%v: status %d", headers, w.Code)
		}
	}
	if flushed != 0 {
		t.Fatal("another site flushed")
	}
	if w := post(h, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:6060"}); w.Code != http.StatusNoContent || flushed != 1 {
		t.Errorf("status %d after %d flushes", w.Code, flushed)
	}
	fail = errors.New("too late")
	if w := post(h, nil); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "too late") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := post(viewer.Handler(s), nil); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "WithFlush") {
		t.Errorf("without a flush: status %d: %s", w.Code, w.Body)
	}
}

func TestGzip(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	plain := get(t, h, "/?format=json").Body.Bytes()
	for field, want := range map[string]bool{"": false, "br": false, "br, gzip": true} {
		r := httptest.NewRequest(http.MethodGet, "/?format=json", nil)
		r.Header.Set("Accept-Encoding", field)
		w := do(t, h, r)
		body := w.Body.Bytes()
		if w.Header().Get("Content-Encoding") == "gzip" {
			body = gunzip(t, body)
		} else if want {
			t.Errorf("%q is not accepted", field)
		}
		if !bytes.Equal(body, plain) {
			t.Errorf("%q: another answer", field)
		}
	}
}

func TestAssets(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	files, err := filepath.Glob("internal/static/*.*")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d files of the page, error %v", len(files), err)
	}
	total := 0
	for _, file := range files {
		name := filepath.Base(file)
		if ext := filepath.Ext(name); ext == ".go" || ext == ".md" {
			continue
		}
		if name == "index.html" {
			name = ""
		}
		w := get(t, h, "/"+name)
		if w.Code != http.StatusOK || bytes.Contains(w.Body.Bytes(), []byte("innerHTML")) {
			t.Errorf("%s: status %d, or it makes markup from text", name, w.Code)
		}
		// Files are sent as they are; a proxy may compress them.
		var z bytes.Buffer
		writer := gzip.NewWriter(&z)
		_, _ = writer.Write(w.Body.Bytes())
		_ = writer.Close()
		total += z.Len()
		if name == "" {
			continue
		}
		r := httptest.NewRequest(http.MethodGet, "/"+name, nil)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		if w := do(t, h, r); w.Code != http.StatusNotModified {
			t.Errorf("%s: status %d for the version that the client has", name, w.Code)
		}
	}
	if total > 64_000 {
		t.Errorf("the page takes %d bytes gzipped, want 64 KB at most", total)
	}
	t.Logf("the page takes %d bytes gzipped", total)
	for _, forbidden := range []string{"http://", "https://", "style=", "<script>", "onclick"} {
		page := bytes.ReplaceAll(get(t, h, "/").Body.Bytes(), []byte("http://www.w3.org/2000/svg"), nil)
		if bytes.Contains(page, []byte(forbidden)) {
			t.Errorf("the page holds %q", forbidden)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("/", `query=.cpu{profile_id%3D"`+slowID+`"}&format=json&from=now-1h`)
	f.Add("/comparison", `leftQuery={}&rightQuery={}&leftFrom=1&format=text`)
	f.Add("/profile", `query={}`)
	f.Add("/x", `format=html;`)
	f.Add("", `order=cpu&limit=1&format=json`)
	f.Add("/", `filter=GET&error=true&min=1ms&max=1h&trace=x&service=shop&from=1&until=now&format=folded`)
	f.Add("/", `query=.wall&format=text`)
	f.Add("/comparison-diff", `query={}&format=folded`)
	f.Add("/comparison", `query={}&rightQuery={profile_id%3D"`+slowID+`"}&format=pprof`)
	f.Add("/timeline", `query=.goroutines{service_version%3D"1"}&format=json`)
	f.Add("/log", `format=text`)
	f.Add("/", `filter=GET&format=frozen`)
	f.Add("/waits", `query=.cpu{span_name%3D"GET /search"}`)
	h := viewer.Handler(newTestStore(f))
	f.Fuzz(func(t *testing.T, path, query string) {
		u := url.URL{Scheme: "http", Host: "localhost", Path: path, RawQuery: query}
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		r.URL, r.Host = &u, "localhost"
		w := do(t, h, r)
		if w.Code >= http.StatusInternalServerError {
			t.Fatalf("GET %s?%s: status %d: %s", path, query, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("GET %s?%s: invalid JSON %s", path, query, w.Body)
		}
	})
}
