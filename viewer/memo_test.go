// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// openedSource is a store that counts its views: an answer that is kept needs none.
type openedSource struct {
	*store.Store
	opened atomic.Int64
}

func (s *openedSource) View(ctx context.Context) (store.View, error) {
	s.opened.Add(1)
	return s.Store.View(ctx)
}

// A parameter that an answer does not depend on, as what the page's script alone reads of its
// address, does not have it made again. Where it does depend on one, each value has its own.
func TestEqualQuestionsAreAnsweredOnce(t *testing.T) {
	s := newTestStore(t)
	params := map[string]string{
		"view": "functions", "per": "second", "leftSearch": "json", "leftZoom": "811c9dc5",
		"search": "regexp", "zoom": "811c9dc5", "function": "main.search",
		"filter": "late", "order": "slowest", "by": "http.route", "sort": "name", "dir": "asc",
	}
	// Without a generation nothing is kept.
	fresh := viewer.Handler(struct{ store.Source }{s})
	for page, read := range map[string][]string{
		target("/", "format", "json"):                                                                 {"filter", "order", "by"},
		target("/", "query", ".cpu", "format", "text"):                                                {"function"},
		target("/comparison", "leftQuery", ".cpu", "rightQuery", byID(slowID), "format", "json"):      nil,
		target("/comparison-diff", "leftQuery", ".cpu", "rightQuery", byID(slowID), "format", "text"): nil,
		target("/timeline", "query", ".cpu", "format", "json"):                                        nil,
		target("/timeline", "format", "json"):                                                         nil,
		target("/names", "format", "json"):                                                            {"filter", "sort", "dir"},
		target("/find", "text", "search", "format", "json"):                                           nil,
	} {
		source := &openedSource{Store: s}
		h := viewer.Handler(source)
		plain := get(t, h, page).Body.Bytes()
		if again := get(t, h, page); source.opened.Load() != 1 || !bytes.Equal(again.Body.Bytes(), plain) {
			t.Fatalf("%s: asked twice, %d answers were made", page, source.opened.Load())
		}
		depends := map[string]bool{}
		for _, name := range read {
			depends[name] = true
		}
		plain = get(t, fresh, page).Body.Bytes()
		for name, value := range params {
			address := page + "&" + name + "=" + value
			want := get(t, fresh, address)
			if differs := !bytes.Equal(want.Body.Bytes(), plain); want.Code != http.StatusOK || differs != depends[name] {
				t.Errorf("%s: status %d; another answer than without %s: %v, want %v", address, want.Code, name, differs, depends[name])
			}
			before := source.opened.Load()
			get(t, h, address)
			if made := source.opened.Load() > before; made != depends[name] {
				t.Errorf("%s: an answer was made: %v, want %v", address, made, depends[name])
			}
		}
	}
}
