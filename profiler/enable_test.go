// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

func kinds(rec *exportertest.Recorder) []exporter.Kind {
	var kinds []exporter.Kind
	for _, p := range rec.Profiles() {
		kinds = append(kinds, p.Kind())
	}
	return kinds
}

func TestEnableBeforeStart(t *testing.T) {
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Enable(t.Context(), exporter.KindHeap), p.Disable(t.Context(), exporter.KindCPU), p.Start()); err != nil {
		t.Fatal(err)
	}
	shutdown(t, p)
	if diff := cmp.Diff([]exporter.Kind{exporter.KindHeap}, kinds(rec)); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

// What somebody else has set since then stays.
func TestMutexFractionOfTheProgram(t *testing.T) {
	before := runtime.SetMutexProfileFraction(-1)
	defer runtime.SetMutexProfileFraction(before)
	p, _ := start(t, profiler.WithKinds(exporter.KindMutex), profiler.WithMutexFraction(5))
	if got := runtime.SetMutexProfileFraction(99); got != 5 {
		t.Errorf("the mutex fraction is %d, want 5", got)
	}
	shutdown(t, p)
	if got := runtime.SetMutexProfileFraction(-1); got != 99 {
		t.Errorf("the mutex fraction is %d, want 99", got)
	}
}
