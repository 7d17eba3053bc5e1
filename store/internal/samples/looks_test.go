// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples_test

import (
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// TestLooksOfAPart: a part of several windows has the looks of all, and no more gaps than
// one may have.
func TestLooksOfAPart(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var cuts []samples.Cut
	for i := range 300 {
		w, _ := build(t, timed{labels: ids(1), at: []time.Duration{time.Second}})
		w.Looks = new(looks.Looks)
		from := begin.Add(time.Duration(i) * 10 * time.Second)
		w.Looks.Add(from, from.Add(9*time.Second), 0, 0, 0)
		w.Looks.AddGap(from.Add(9*time.Second), from.Add(10*time.Second), time.Second)
		cuts = append(cuts, samples.All(&w))
	}
	part, _ := samples.Part(cuts...)
	if got := part.Looks.Unwatched(begin, begin.Add(time.Hour)); got != 300*time.Second || len(part.Looks.Gaps) != 256 {
		t.Errorf("%v are unwatched, in %d gaps; want 300s in 256", got, len(part.Looks.Gaps))
	}
	if got, want := part.Looks.Mean(), 81e18; got < 0.99*want || got > 1.01*want {
		t.Errorf("intervals have a mean square of %v, want %v", got, want)
	}
	w, _ := build(t, timed{labels: ids(1), at: []time.Duration{time.Second}})
	if part, _ := samples.Part(samples.All(&w)); part.Looks != nil {
		t.Errorf("a part of a window that knows no looks has %+v", part.Looks)
	}
}
