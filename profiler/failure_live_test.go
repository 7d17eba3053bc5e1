// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// Shutdown exports the open windows of all kinds, if it has the time.
func TestShutdownExportsAllKinds(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(allKinds...), profiler.WithWindow(endless))
	shutdown(t, p)
	cpuLast := slices.DeleteFunc(slices.Clone(allKinds), func(k exporter.Kind) bool { return k == exporter.KindCPU })
	if diff := cmp.Diff(append(cpuLast, exporter.KindCPU), kinds(rec)); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	for _, w := range rec.Profiles() {
		parsed(t, w)
	}
}

// A Profile that the program asks for is its own when the Profiler has been shut
// down, as before Start.
func TestProfileAfterShutdown(t *testing.T) {
	p, _ := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	shutdown(t, p)
	if got := profileCPU(t, p, 10*time.Millisecond); got.DurationNanos <= 0 {
		t.Errorf("a profile of %d ns", got.DurationNanos)
	}
	startForeign(t).stop(t) // nobody uses the CPU profiler
}
