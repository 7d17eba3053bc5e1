// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// Queries that may look at everything are answered one at a time. Those for one
// id are not held up, and a client that goes leaves the line.
func TestOneHeavyQueryAtATime(t *testing.T) {
	s := newTestStore(t)
	synctest.Test(t, func(t *testing.T) {
		h := Handler(s).(*handler)
		h.heavy <- struct{}{} // A query is being answered.
		if w := get(t, h, target("/", "query", byID(slowID), "format", "json")); w.Code != http.StatusOK {
			t.Errorf("the query for one id: status %d", w.Code)
		}
		heavy := []string{
			target("/", "query", ".cpu", "format", "json"),
			target("/", "query", ".cpu", "format", "pprof"),
			target("/", "query", `.cpu{profile_id=""}`, "format", "folded"),
			target("/comparison", "leftQuery", ".cpu", "rightQuery", byID(slowID), "format", "text"),
			target("/comparison", "leftQuery", byID(slowID), "rightQuery", ".cpu", "format", "pprof"),
			"/timeline?format=json",
			"/?format=pprof",
			"/?format=folded",
			"/?format=json",
			"/?format=json&since=before",
			"/?format=text",
		}
		for _, address := range heavy {
			ctx, cancel := context.WithCancel(t.Context())
			status := make(chan int)
			go func() {
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil)
				status <- do(t, h, r).Code
			}()
			synctest.Wait()
			select {
			case code := <-status:
				t.Errorf("GET %s: status %d, want it to wait", address, code)
			default:
			}
			cancel()
			if code := <-status; code != http.StatusServiceUnavailable {
				t.Errorf("GET %s, cancelled: status %d", address, code)
			}
		}
		<-h.heavy
		for _, address := range heavy {
			if w := get(t, h, address); w.Code != http.StatusOK {
				t.Errorf("GET %s: status %d", address, w.Code)
			}
		}
	})
}

// Nothing is put together for a client that has gone.
func TestClientIsGone(t *testing.T) {
	h := Handler(newTestStore(t)).(*handler)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, address := range []string{
		target("/", "query", ".cpu", "format", "json"),
		target("/", "query", byID(slowID), "format", "pprof"),
	} {
		if w := do(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil)); w.Code != http.StatusServiceUnavailable {
			t.Errorf("GET %s: status %d", address, w.Code)
		}
	}
	q := query{flameQL: flameQL{typ: profileTypes[0]}}
	if _, err := h.selection(ctx, q); err == nil {
		t.Error("the selection was made")
	}
	if _, err := h.profile(ctx, q); err == nil {
		t.Error("the profile was made")
	}
}

// Pages of other sites may link to the pages here, but not load what is here: their
// links get the page, and what it shows it asks for itself.
func TestRequestsFromElsewhere(t *testing.T) {
	h := Handler(newTestStore(t))
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
			"/timeline?format=json":                         "application/json",
			"/?format=folded":                               "text/plain; charset=utf-8",
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
