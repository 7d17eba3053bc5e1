// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/viewer"
)

// The page shows whether the profiler runs.
func TestHandler(t *testing.T) {
	tp, res := newTracerProvider(t)
	p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res)), inprocess.WithViewerOptions(viewer.WithAllowedHosts("debug.example.com")))
	if err != nil {
		t.Fatal(err)
	}
	status := func() (s struct {
		Running bool
		Message string
	},
	) {
		r := httptest.NewRequest(http.MethodGet, "http://debug.example.com/debug/spanprof/?format=json", http.NoBody)
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		var v struct{ Status any }
		v.Status = &s
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := status(); !s.Running || (s.Message != "") != (goruntime.Unknown() != nil) {
		t.Errorf("status while running: %+v", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := status(); s.Running {
		t.Errorf("status after Shutdown: %+v", s)
	}
}

// The page has a note where the public API alone labels goroutines.
func TestPageOfPublicLabels(t *testing.T) {
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindHeap, exporter.KindCPU)))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/?format=text", http.NoBody))
	want := goruntime.Unknown() != nil
	if page := strings.Join(strings.Fields(w.Body.String()), " "); strings.Contains(page, "labelled by runtime/pprof's public API alone") != want {
		t.Errorf("want a note: %t; the page:\n%s", want, page)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
