// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// blockedSource is a source with a first question for samples that waits until it has answered
// three others.
type blockedSource struct {
	store.Source
	asked, answered atomic.Int64
	others          chan struct{}
}

func (s *blockedSource) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := s.Source.View(ctx, from, until)
	return &blockedView{v, s}, err
}

type blockedView struct {
	store.View
	source *blockedSource
}

func (v *blockedView) Samples(q store.Query) (*store.Samples, error) {
	if !q.Stacks {
		return v.View.Samples(q)
	}
	if v.source.asked.Add(1) == 1 {
		<-v.source.others
	}
	a, err := v.View.Samples(q)
	if v.source.answered.Add(1) == 3 {
		close(v.source.others)
	}
	return a, err
}

// A source bounds itself: a slow question blocks no other.
func TestASlowQuestionBlocksNobody(t *testing.T) {
	s := newTestStore(t)
	synctest.Test(t, func(t *testing.T) {
		h := viewer.Handler(&blockedSource{Source: s, others: make(chan struct{})})
		codes := make(chan int, 4)
		slow := target("/", "query", ".cpu", "format", "json")
		go func() { codes <- get(t, h, slow).Code }()
		synctest.Wait() // its question is blocked
		for _, address := range []string{
			slow,
			target("/", "query", byID(slowID), "format", "json"),
			target("/", "query", `.cpu{span_name="GET /search"}`, "format", "folded"),
		} {
			if len(codes) > 0 {
				t.Fatal("the first question is answered before the others")
			}
			codes <- get(t, h, address).Code
			if code := <-codes; code != http.StatusOK {
				t.Errorf("GET %s: status %d", address, code)
			}
		}
		if code := <-codes; code != http.StatusOK {
			t.Errorf("the first question: status %d", code)
		}
	})
}

// Nothing is asked for a client that has gone away.
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
