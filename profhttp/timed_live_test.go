// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profhttp_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

// The Profiler is shut down before the server, and its scrapers get what there is.
func TestShutdownDuringAScrape(t *testing.T) {
	p, _ := newProfiler(t, profiler.WithKinds(exporter.KindWall))
	start(t, p)
	h := profhttp.Handler(p)
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/wall?seconds=3600", http.NoBody))
		answered <- answer
	}()
	for reading := false; !reading; runtime.Gosched() {
		select {
		case answer := <-answered:
			t.Fatalf("at once: %d %s", answer.Code, answer.Body)
		default:
		}
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
			t.Fatal(err)
		}
		reading = strings.Contains(stacks.String(), "profiler.(*tap).write")
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer := <-answered
	if _, err := profile.Parse(answer.Body); err != nil || answer.Code != http.StatusOK {
		t.Errorf("%d %v", answer.Code, err)
	}
}
