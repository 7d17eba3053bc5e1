// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spanprof/spanprof/internal/compare"
)

// One function takes a fifth more: that is found, and of all that is claimed 5 % are
// false. Its callers move too.
func TestOneFunctionMoved(t *testing.T) {
	for _, test := range []struct {
		runs  int
		by    float64
		least int // of 50
	}{
		{5, 0.2, 48},
		{3, 0.3, 45},
	} {
		p := program{rand.New(rand.NewPCG(2, uint64(test.runs))), 8000}
		const comparisons = 50
		found, covered, falseShare := 0, 0, 0.0
		for range comparisons {
			r := result(t, p.side(t, test.runs, "", 0), p.side(t, test.runs, "f00", test.by))
			f := function(t, r, "f00")
			if f.Moved {
				found++
			}
			if f.Total.Test.Low <= 1+test.by && f.Total.Test.High >= 1+test.by {
				covered++
			}
			wrong := 0
			for _, f := range r.Functions {
				if f.Moved && f.Name != "f00" && f.Name != "handler0" && f.Name != "main" {
					wrong++
				}
			}
			falseShare += float64(wrong) / float64(max(1, moved(r))) / comparisons
		}
		t.Logf("%d runs a side: found %d, %.1f%% of claims false, the interval has the truth %d times", test.runs, found, 100*falseShare, covered)
		if found < test.least {
			t.Errorf("%d runs a side: %+.0f%% found in %d of %d, want %d", test.runs, 100*test.by, found, comparisons, test.least)
		}
		if falseShare > 0.08 {
			t.Errorf("%d runs a side: %.1f%% of claims are false, want 5 %%", test.runs, 100*falseShare)
		}
		if covered < comparisons*9/10 {
			t.Errorf("%d runs a side: the 95 %% interval has the true ratio in %d of %d", test.runs, covered, comparisons)
		}
	}
}

func moved(r *compare.Result) int {
	n := 0
	for _, f := range r.Functions {
		if f.Moved {
			n++
		}
	}
	return n
}
