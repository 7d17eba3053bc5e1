// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/metertest"
)

// Each number of a loss has its counter.
func TestMetricsOfStatus(t *testing.T) {
	s := &Status{Windows: 1, WindowsSkipped: 2, CPUForeign: 3, Wall: WallStatus{RoundsSkipped: 4, SamplesDropped: 5}}
	got := make(map[string]uint64)
	for _, c := range counters {
		got[c.name] = c.of(s)
	}
	want := map[string]uint64{"window.measured": 1, "window.skipped": 2, "cpu.foreign": 3, "wall.round.skipped": 4, "wall.sample.dropped": 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// Metrics follow Flush and the ends of windows, and have the last one of Shutdown.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sums := metertest.New(t)
		p, err := New(new(exportertest.Recorder), WithKinds(exporter.KindGoroutine), WithWindow(time.Second), WithFirstEnd())
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, want float64) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(map[string]float64{"window.measured": want}, sums.Of("spanprof.profiler.")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("after Flush", 1)
		<-time.After(3500 * time.Millisecond)
		check("after windows", 4)
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		check("after Shutdown", 5)
	})
}
