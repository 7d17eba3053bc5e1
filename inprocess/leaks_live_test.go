// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profhttp"
)

//go:noinline
func leakOf(until chan struct{}) { <-until }

// The leaked goroutines of three endpoints have the names of their spans, on the page and in
// profhttp. Before Go 1.27 the page names what is needed.
func TestLeaks(t *testing.T) {
	tp, _ := newTracerProvider(t)
	p, err := inprocess.Start(tp)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	answer := func(h http.Handler, address string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+address, http.NoBody))
		return w
	}
	if pprof.Lookup("goroutineleak") == nil {
		for _, address := range []string{"/leaks", "/running?format=json"} {
			if got := answer(p.Handler(), address).Body.String(); !strings.Contains(got, "Go 1.27") {
				t.Errorf("%s does not name what is needed:\n%s", address, got)
			}
		}
		return
	}
	want := map[string]int{"GET /report": 3, "GET /search": 2, "POST /orders": 1}
	for name, n := range want {
		_, span := tp.Tracer("test").Start(t.Context(), name)
		for range n {
			go leakOf(make(chan struct{}))
		}
		span.End()
	}
	var page struct {
		Names []struct {
			Name       string
			Goroutines int
			Stacks     []struct{ Frames []string }
		}
	}
	if err := json.Unmarshal(answer(p.Handler(), "/leaks?format=json").Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	onPage := map[string]int{}
	for _, name := range page.Names {
		if strings.Contains(strings.Join(name.Stacks[0].Frames, ""), "leakOf") {
			onPage[name.Name] = name.Goroutines
		}
	}
	pulled, err := profile.ParseData(answer(profhttp.Handler(p.Profiler()), "/debug/pprof/goroutineleak").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	inPprof := map[string]int{}
	for _, s := range pulled.Sample {
		if name := s.Label["span_name"]; len(name) == 1 {
			inPprof[name[0]] += int(s.Value[0])
		}
	}
	for name, n := range want {
		if onPage[name] != n || inPprof[name] != n {
			t.Errorf("%s leaked %d on the page and %d in profhttp, want %d", name, onPage[name], inPprof[name], n)
		}
	}
}
