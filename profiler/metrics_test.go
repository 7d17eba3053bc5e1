// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
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

// faulty is an exporter. Each second Export fails, until one hangs.
type faulty struct {
	exportertest.Recorder
	calls int
	hangs int // from this call on
}

func (f *faulty) Export(ctx context.Context, _ *exporter.Profile) error {
	f.calls++
	switch {
	case f.calls >= f.hangs:
		<-ctx.Done()
		return ctx.Err()
	case f.calls%2 == 0:
		return errors.New("an Export of two")
	}
	return nil
}

// Metrics follow Flush and the ends of windows, and have what Shutdown left behind.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sums := metertest.New(t)
		p, err := New(&faulty{hangs: 5}, WithKinds(exporter.KindGoroutine), WithWindow(time.Second), WithFirstEnd())
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, want map[string]float64) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, sums.Of("spanprof.profiler.")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Flush(t.Context()); err == nil || err.Error() != "profiler: 1 failed: an Export of two" {
			t.Errorf("Flush: %v, want the failure", err)
		}
		check("after Flush", map[string]float64{"window.measured": 2})
		<-time.After(3500 * time.Millisecond)
		check("after windows", map[string]float64{"window.measured": 5})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		check("after Shutdown", map[string]float64{"window.measured": 6})
	})
}
