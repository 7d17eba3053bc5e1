// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// A source bounds itself: a slow question blocks no other.
func TestASlowQuestionBlocksNobody(t *testing.T) {
	s := newTestStore(t)
	synctest.Test(t, func(t *testing.T) {
		var blocked atomic.Bool
		others := make(chan struct{})
		h := viewer.Handler(&fileSource{Store: s, asked: func(question any) {
			if q, ok := question.(store.Query); ok && q.Stacks && !blocked.Swap(true) {
				<-others
			}
		}})
		first := make(chan int, 1)
		slow := target("/", "query", ".cpu", "format", "json")
		go func() { first <- get(t, h, slow).Code }()
		synctest.Wait() // its question is blocked
		for _, address := range []string{
			slow,
			target("/", "query", byID(slowID), "format", "json"),
			target("/", "query", `.cpu{span_name="GET /search"}`, "format", "folded"),
		} {
			if w := get(t, h, address); w.Code != http.StatusOK {
				t.Errorf("GET %s: status %d", address, w.Code)
			}
		}
		if len(first) > 0 {
			t.Error("the first question is answered before the others")
		}
		close(others)
		if code := <-first; code != http.StatusOK {
			t.Errorf("the first question: status %d", code)
		}
	})
}

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
