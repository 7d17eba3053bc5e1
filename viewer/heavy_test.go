// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spanprof/spanprof/viewer"
)

// Other sites may link to the viewer but not load anything from it: their links get the
// page, which fetches its own data.
func TestRequestsFromElsewhere(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	const (
		nothing = iota
		page
		all
	)
	for _, test := range []struct {
		site, mode, dest string
		may              int
	}{
		{"", "", "", all},
		{"none", "navigate", "document", all},
		{"same-origin", "cors", "empty", all},
		{"same-origin", "navigate", "document", all},
		{"cross-site", "navigate", "document", page},
		{"same-site", "navigate", "document", page},
		{"cross-site", "no-cors", "image", nothing},
		{"same-site", "no-cors", "script", nothing},
		{"cross-site", "cors", "empty", nothing},
		{"cross-site", "navigate", "iframe", nothing},
	} {
		for address, own := range map[string]string{
			target("/", "query", ".cpu"):                    "text/html; charset=utf-8",
			target("/", "query", ".cpu", "format", "pprof"): "application/octet-stream",
			target("/profile", "query", ".cpu"):             "application/octet-stream",
			"/timeline?query=.cpu":                          "application/json",
			"/?format=text":                                 "text/plain; charset=utf-8",
			"/":                                             "text/html; charset=utf-8",
			"/app.js":                                       "text/javascript; charset=utf-8",
			"/log?format=json":                              "application/json",
		} {
			r := httptest.NewRequest(http.MethodGet, address, nil)
			for key, value := range map[string]string{"Sec-Fetch-Site": test.site, "Sec-Fetch-Mode": test.mode, "Sec-Fetch-Dest": test.dest} {
				if value != "" {
					r.Header.Set(key, value)
				}
			}
			status, content := http.StatusOK, own
			switch {
			case test.may == nothing || test.may == page && address == "/app.js":
				status, content = http.StatusForbidden, "text/plain; charset=utf-8"
			case test.may == page:
				content = "text/html; charset=utf-8"
			}
			w := do(t, h, r)
			if got := w.Header().Get("Content-Type"); w.Code != status || got != content {
				t.Errorf("%+v: GET %s: status %d, %s, want %d, %s", test, address, w.Code, got, status, content)
			}
		}
	}
}
