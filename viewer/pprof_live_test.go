// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package viewer_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// The pprof of one span waits for no list: nothing is summed for it but its own samples.
func TestPprofOfASpanWaitsForNoList(t *testing.T) {
	source := &fileSource{spans: []store.Span{{ProfileID: slowID, Name: "GET /search"}}}
	h := viewer.Handler(source)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	depth, codes := 0, []int{}
	source.asked = func(question any) {
		if _, list := question.(store.SpanQuery); !list {
			return
		}
		// Each list is asked for while the one before is made.
		if depth++; depth == 1 {
			get(t, h, "/?format=json")
		} else if depth == 2 {
			for _, f := range []string{"pprof", "folded"} {
				r := httptest.NewRequest(http.MethodGet, target("/profile", "query", byID(slowID), "format", f), nil)
				codes = append(codes, do(t, h, r.WithContext(ctx)).Code)
			}
		}
	}
	get(t, h, "/?format=json")
	if !slices.Equal(codes, []int{http.StatusOK, http.StatusOK}) {
		t.Errorf("while two lists are made, the profiles of a span have the status %d", codes)
	}
}
