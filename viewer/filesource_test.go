// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// fileSource is a store as it looks from files: it has no records of spans unless a test adds some.
// Without a store it is empty.
type fileSource struct {
	*store.Store
	spans []store.Span
	// err is what every question fails with.
	err error
	// asked is called before every question, if it is set.
	asked func(question any)
	// open and opened count views.
	open, opened int
}

func (s *fileSource) View(ctx context.Context, from, until time.Time) (store.View, error) {
	if s.Store == nil {
		var err error
		if s.Store, err = store.New(); err != nil {
			return nil, err
		}
	}
	v, err := s.Store.View(ctx, from, until)
	s.open++
	s.opened++
	return &fileView{v, s, ctx}, err
}

type fileView struct {
	store.View
	*fileSource
	ctx context.Context
}

func (v *fileView) Close() {
	v.View.Close()
	v.open--
}

func (v *fileView) Info() store.Info {
	return store.Info{Lacks: store.LacksUpdates | store.LacksRecords}
}

// ask fails after the request and in a source that is broken.
func (v *fileView) ask(question any) error {
	if v.asked != nil {
		v.asked(question)
	}
	return cmp.Or(v.ctx.Err(), v.err)
}

func (v *fileView) Spans(q store.SpanQuery) (list store.SpanList, err error) {
	for _, s := range v.spans {
		if !q.Names && (q.ID == "" || s.ProfileID == q.ID) && (q.Name == "" || s.Name == q.Name) {
			list.Spans = append(list.Spans, s)
		}
	}
	return list, v.ask(q)
}

func (v *fileView) Samples(q store.Query) (*store.Samples, error) {
	if err := v.ask(q); err != nil {
		return nil, err
	}
	return v.View.Samples(q)
}

func (v *fileView) Windows() ([]store.WindowInfo, error) {
	if err := v.ask("windows"); err != nil {
		return nil, err
	}
	return v.View.Windows()
}

// newFile returns the profiles of newTestStore, without its spans.
func newFile(t *testing.T) *fileSource { return &fileSource{Store: newTestStore(t)} }

// Every page answers over a source without spans and records, from one view that it closes. Any
// question may fail: that is an error of the server.
func TestPagesOverAFile(t *testing.T) {
	source := newFile(t)
	h := viewer.Handler(source)
	addresses := []string{"/log?format=json", "/log?format=text"}
	for _, format := range []string{"json", "text"} {
		addresses = append(addresses, target("/", "format", format), target("/comparison", "query", ".cpu", "format", format))
		for _, query := range []string{".cpu", "other.cpu", byID(slowID), byID("none"), `{span_name=~"GET .*",tenant!="x"}`, ".inuse_space", `.mutex_count{a="b"}`} {
			addresses = append(addresses, target("/", "query", query, "format", format), target("/profile", "query", query), target("/timeline", "query", query))
		}
	}
	for _, address := range addresses {
		questions := 0
		source.opened, source.asked = 0, func(any) { questions++ }
		w := get(t, h, address)
		if w.Code != http.StatusOK || w.Body.Len() == 0 || source.opened != 1 || source.open != 0 {
			t.Errorf("GET %s: status %d, %d views were opened, %d are open: %s", address, w.Code, source.opened, source.open, w.Body)
		}
		for failing := range questions {
			n := 0
			source.asked = func(any) {
				source.err = nil
				if n == failing {
					source.err = http.ErrAbortHandler
				}
				n++
			}
			if w := get(t, h, address); w.Code != http.StatusInternalServerError || source.open != 0 {
				t.Errorf("GET %s: status %d although question %d of %d fails", address, w.Code, failing+1, questions)
			}
		}
		source.err = nil
	}
}

// A client that goes away while the source works is not answered any further.
func TestClientGoesAwayMeanwhile(t *testing.T) {
	source := newFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	questions := 0
	source.asked = func(any) {
		questions++
		cancel()
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target("/", "query", byID(slowID), "format", "json"), nil)
	if w := do(t, viewer.Handler(source), r); w.Code != http.StatusServiceUnavailable || questions != 1 {
		t.Errorf("status %d after %d questions, want 1", w.Code, questions)
	}
}
