// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package compare_test

import (
	"math/rand/v2"
	"testing"
)

// Nothing moved between two sides of the same program: at most 5 % of comparisons may
// claim that anything did.
func TestNothingMoved(t *testing.T) {
	for _, runs := range []int{3, 5} {
		p := program{rand.New(rand.NewPCG(1, uint64(runs))), 2500}
		const comparisons = 150
		false_, flagged, tested := 0, 0, 0
		for range comparisons {
			r := result(t, p.side(t, runs, "", 0), p.side(t, runs, "", 0), "")
			n := moved(r)
			if n > 0 {
				false_++
			}
			flagged += n
			tested += r.Tested
		}
		t.Logf("%d runs a side: %d of %d comparisons, %d of %d functions", runs, false_, comparisons, flagged, tested)
		if limit := comparisons * 9 / 100; false_ > limit { // 5 %, and two standard deviations
			t.Errorf("%d runs a side: %d of %d comparisons claim that something moved, want at most %d", runs, false_, comparisons, limit)
		}
		if flagged*100 > tested {
			t.Errorf("%d runs a side: %d of %d functions flagged, want at most 1 %%", runs, flagged, tested)
		}
	}
}
