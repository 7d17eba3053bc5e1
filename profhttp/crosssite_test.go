// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp_test

import (
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/profhttp"
)

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
