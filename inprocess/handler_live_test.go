// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

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
