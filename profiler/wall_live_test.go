// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

func TestWallShowsWhereASpanWaited(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(0.5), profiler.WithWindow(endless))
	doubling(t, func(d time.Duration) bool {
		pprof.Do(context.Background(), pprof.Labels("span_id", "00f067aa0ba902b7", "test", "wall"), func(context.Context) {
			waiting(d)
		})
		flush(t, p)
		w := last(t, rec)
		if w.Kind() != exporter.KindWall || w.Duration() < d {
			t.Fatalf("a window of %s with %v was exported, want wall with at least %v", w.Kind(), w.Duration(), d)
		}
		return slices.ContainsFunc(parsed(t, w).Sample, func(s *profile.Sample) bool {
			return slices.Equal(s.Label["span_id"], []string{"00f067aa0ba902b7"}) && hasFunction(s, "waiting") && hasFunction(s, "chanrecv")
		})
	})
	s := p.Status().Wall
	if s.Rounds == 0 || s.Samples == 0 || s.CPU <= 0 || s.Interval <= 0 || s.Rate <= 0 || s.Share <= 0 || s.Source == "" {
		t.Errorf("the status is %+v", s)
	}
	if s.SamplesDropped != 0 {
		t.Errorf("%d samples were dropped", s.SamplesDropped)
	}
}

//go:noinline
func waiting(d time.Duration) { <-time.After(d) }
