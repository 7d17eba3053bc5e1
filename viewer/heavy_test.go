// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// turnSource is a source whose first selection lasts until release is closed.
type turnSource struct {
	store.Source
	first   sync.Once
	release chan struct{}
}

func (s *turnSource) View(ctx context.Context) (store.View, error) {
	v, err := s.Source.View(ctx)
	return &turnView{v, s}, err
}

type turnView struct {
	store.View
	source *turnSource
}

func (v *turnView) Select(q store.Query) (*store.Selection, error) {
	v.source.first.Do(func() { <-v.source.release })
	return v.View.Select(q)
}

// Requests that may look at all samples are answered one at a time. Lists and queries for
// one id do not wait, and a client that goes away leaves the queue.
func TestOneHeavyQueryAtATime(t *testing.T) {
	s := newTestStore(t)
	synctest.Test(t, func(t *testing.T) {
		source := &turnSource{Source: s, release: make(chan struct{})}
		h := viewer.Handler(source)
		first := make(chan int)
		go func() { first <- get(t, h, target("/", "query", ".cpu", "format", "json")).Code }()
		synctest.Wait() // It is being answered.
		if w := get(t, h, target("/", "query", byID(slowID), "format", "pprof")); w.Code != http.StatusOK {
			t.Errorf("the query for one id: status %d", w.Code)
		}
		heavy := []string{
			target("/", "query", ".cpu", "format", "json"),
			target("/", "query", ".cpu", "format", "pprof"),
			target("/", "query", `.cpu{profile_id=""}`, "format", "folded"),
			target("/", "query", `.cpu{span_id="00000000000000c1",trace_id="010000000000000000000000000000a1"}`, "format", "json"),
			target("/comparison", "leftQuery", ".cpu", "rightQuery", byID(slowID), "format", "text"),
			target("/comparison", "leftQuery", byID(slowID), "rightQuery", ".cpu", "format", "pprof"),
			"/timeline?format=json",
			"/?format=pprof",
			"/?format=folded",
		}
		for _, address := range []string{"/?format=json", "/?format=json&since=before", "/?format=text", "/log?format=json"} {
			if w := get(t, h, address); w.Code != http.StatusOK {
				t.Errorf("GET %s beside a graph: status %d", address, w.Code)
			}
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
		close(source.release)
		if code := <-first; code != http.StatusOK {
			t.Errorf("the first query: status %d", code)
		}
		for _, address := range heavy {
			if w := get(t, h, address); w.Code != http.StatusOK {
				t.Errorf("GET %s: status %d", address, w.Code)
			}
		}
	})
}

// Nothing is built for a client that has gone away.
func TestClientIsGone(t *testing.T) {
	source := newFile(t)
	source.asked = func(question any) { t.Errorf("%+v was asked", question) }
	h := viewer.Handler(source)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, address := range []string{
		target("/", "query", ".cpu", "format", "json"),
		target("/", "query", ".cpu", "format", "pprof"),
	} {
		if w := do(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil)); w.Code != http.StatusServiceUnavailable {
			t.Errorf("GET %s: status %d", address, w.Code)
		}
	}
	// A query for one id does not wait: the view says that the request has ended.
	source.asked = nil
	for _, format := range []string{"json", "pprof"} {
		for _, source := range []store.Source{source, newTestStore(t)} {
			address := target("/", "query", byID(slowID), "format", format)
			if w := do(t, viewer.Handler(source), httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil)); w.Code != http.StatusServiceUnavailable {
				t.Errorf("GET %s: status %d", address, w.Code)
			}
		}
	}
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
