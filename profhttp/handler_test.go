// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

// The process has one CPU profiler: no test of this package runs in parallel.
func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// serve returns the URL of a server of p under a prefix.
func serve(t *testing.T, p *profiler.Profiler) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", profhttp.Handler(p))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/debug/pprof/"
}

// ask makes a request with the Host of a pod and returns its answer.
func ask(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "10.1.2.3:6060"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it has been read
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options %q, want nosniff", url, got)
	}
	return response, string(answer)
}

// refused checks that an answer is an error as text, without headers of a profile.
func refused(t *testing.T, url string, status int, text string) {
	t.Helper()
	response, body := ask(t, http.MethodGet, url, "")
	if response.StatusCode != status || !strings.Contains(body, text) {
		t.Errorf("%s: %s %q, want %d and %q", url, response.Status, body, status, text)
	}
	if got := response.Header; got.Get("Content-Type") != "text/plain; charset=utf-8" || got.Get("X-Go-Pprof") != "1" || got.Get("Content-Disposition") != "" {
		t.Errorf("%s: %v", url, got)
	}
}

func TestWrongRequests(t *testing.T) {
	base := serve(t, nil)
	for _, name := range []string{"profile", "trace"} {
		for _, value := range []string{"0", "-1", "x", "NaN", "Inf", "86401", "1e300", "99999999999999999999"} {
			refused(t, base+name+"?seconds="+value, http.StatusBadRequest, `invalid value "`+value+`" for "seconds"`)
		}
	}
	for _, value := range []string{"x", "-1", "1.5", "3"} {
		refused(t, base+"heap?debug="+value, http.StatusBadRequest, `invalid value "`+value+`"`)
	}
	refused(t, base+"heap?debug="+strings.Repeat("9", 1000), http.StatusBadRequest, strings.Repeat("9", 50)+`" for "debug"`)
	refused(t, base+"heap?seconds=1", http.StatusBadRequest, "use delta_heap")
	refused(t, base+"delta_heap?seconds=1", http.StatusBadRequest, "since the last request")
	for _, name := range []string{"nothing", "symbol", "cmdline"} {
		refused(t, base+name, http.StatusNotFound, "unknown profile")
	}
	refused(t, base+"wall?seconds=1", http.StatusNotFound, "profiler.WithKinds")
	for method, name := range map[string]string{http.MethodPost: "heap", http.MethodHead: "delta_heap"} {
		if response, _ := ask(t, method, base+name, ""); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %s", method, name, response.Status)
		}
	}
}

// Each profile is served as a profile, and the page has links to all of them.
func TestProfilesAreServed(t *testing.T) {
	base := serve(t, nil)
	_, page := ask(t, http.MethodGet, base, "")
	names := []string{"delta_heap", "delta_mutex", "delta_block"}
	for _, p := range pprof.Profiles() {
		names = append(names, p.Name())
	}
	for _, name := range names {
		response, body := ask(t, http.MethodGet, base+name, "")
		if _, err := profile.ParseData([]byte(body)); err != nil || response.Header.Get("Content-Disposition") != `attachment; filename="`+name+`"` {
			t.Errorf("%s: %s %v, %v", name, response.Status, response.Header, err)
		}
		if !strings.Contains(page, `<li><a href="`+name) {
			t.Errorf("the page has no link to %s:\n%s", name, page)
		}
	}
	if response, body := ask(t, http.MethodGet, base+"goroutine?debug=2", ""); !strings.Contains(body, "TestProfilesAreServed") || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the stacks of goroutines are %q", body)
	}
}

// Work under a marker has its name as a label in any profile, and no frames of the marker.
func TestMarkers(t *testing.T) {
	own := pprof.Lookup("example.com/jobs")
	if own == nil { // or an earlier run of the test has made it
		own = pprof.NewProfile("example.com/jobs")
	}
	defer own.Remove(t)
	marker.Do(t.Context(), "GET /report", func(context.Context) { own.Add(t, 0) })
	_, body := ask(t, http.MethodGet, serve(t, nil)+"example.com/jobs", "")
	p, err := profile.ParseData([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	text := p.String()
	if len(p.Sample) != 1 || !slices.Equal(p.Sample[0].Label["span_name"], []string{"GET /report"}) || strings.Contains(text, "internal/marker.") {
		t.Errorf("want one sample with the label and without frames of internal/marker, got\n%s", text)
	}
}

// Any path is a prefix, also none at all.
func TestPrefixes(t *testing.T) {
	for _, path := range []string{"/heap", "/debug/pprof/heap", "/a/b/c/d/heap", "heap"} {
		answer := httptest.NewRecorder()
		profhttp.Handler(nil).ServeHTTP(answer, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
}

// Pages of other sites cannot take deltas or collect garbage. Scrapers, curl and links
// within the page can.
func TestCrossSite(t *testing.T) {
	h := profhttp.Handler(nil)
	if pprof.Lookup("goroutineleak") == nil { // before Go 1.27
		pprof.NewProfile("goroutineleak")
	}
	for _, tt := range []struct {
		site, origin, agent string
		refused             bool
	}{
		{},
		{site: "none"},
		{site: "same-origin"},
		{site: "same-origin", origin: "http://localhost:6060"},
		{site: "same-site", refused: true},
		{site: "cross-site", refused: true},
		{site: "cross-site", origin: "https://evil.example", refused: true},
		{origin: "http://localhost:6060"},
		{origin: "http://localhost:7070", refused: true},
		{origin: "null", refused: true},
		{agent: "Mozilla/5.0 (X11)", refused: true}, // by HTTP to another machine
		{agent: "Mozilla/5.0 (X11)", site: "none"},
		{agent: "Alloy/1.0"},
	} {
		for path, changes := range map[string]bool{
			"/delta_heap": true, "/delta_mutex": true, "/delta_block": true, "/debug/pprof/delta_heap?gc=1": true, "/heap?gc=1": true, "/goroutineleak": true,
			"/heap": false, "/goroutine": false, "/": false,
		} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost:6060"+path, http.NoBody)
			for key, value := range map[string]string{"Sec-Fetch-Site": tt.site, "Origin": tt.origin, "User-Agent": tt.agent} {
				if value != "" {
					r.Header.Set(key, value)
				}
			}
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			want := http.StatusOK
			if tt.refused && changes {
				want = http.StatusForbidden
			}
			if answer.Code != want || want == http.StatusForbidden && !strings.Contains(answer.Body.String(), "curl") {
				t.Errorf("%s with %+v: %d %s, want %d", path, tt, answer.Code, answer.Body, want)
			}
		}
	}
}
