// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/profhttp"
)

// An answer that nobody reads has no delta, which would be in no other.
func TestDeltaIsNotTakenForNobody(t *testing.T) {
	p, _ := newProfiler(t)
	h := profhttp.Handler(p)
	read := func(method string, ctx context.Context) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, method, "/delta_heap", http.NoBody))
		return answer
	}
	read(http.MethodGet, t.Context())
	allocate()
	for range 2 {
		runtime.GC() // the profile is that of the last but one
	}
	if got := read(http.MethodHead, t.Context()); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "GET" {
		t.Errorf("HEAD: %d %v, want 405 and what is allowed", got.Code, got.Header())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := read(http.MethodGet, ctx); got.Code == http.StatusOK {
		t.Errorf("after the client had gone: %d", got.Code)
	}
	delta, err := profile.ParseData(read(http.MethodGet, t.Context()).Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(delta.Sample, func(s *profile.Sample) bool {
		return s.Value[0] > 0 && slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return slices.ContainsFunc(l.Line, func(line profile.Line) bool { return strings.HasSuffix(line.Function.Name, ".allocate") })
		})
	}) {
		t.Error("what was allocated is in no delta")
	}
}

// allocate makes what is far larger than the distance of two samples, so that all of
// it is sampled.
//
//go:noinline
func allocate() {
	for range 4 {
		kept = make([]byte, 16<<20)
	}
	kept = nil
}

var kept []byte
