// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package marker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spanprof/spanprof/internal/marker"
)

func TestAllocations(t *testing.T) {
	ctx, f := t.Context(), func(context.Context) {}
	h, w, r := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	if n := testing.AllocsPerRun(100, func() { marker.Do(ctx, "name", f); marker.Serve("name", h, w, r) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkDo(b *testing.B) {
	f := func(context.Context) {}
	for b.Loop() {
		marker.Do(context.Background(), "GET /checkout", f)
	}
}
