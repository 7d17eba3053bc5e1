// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sorting_test

import (
	"cmp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/sorting"
)

func TestFunc(t *testing.T) {
	got := []int{3, 1, 2, 5, 4}
	sorting.Func(got, func(a, b int) int { return cmp.Compare(b, a) })
	if diff := gocmp.Diff([]int{5, 4, 3, 2, 1}, got); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
}

func TestStable(t *testing.T) {
	got := [][2]int{{3, 0}, {1, 1}, {3, 2}, {2, 3}, {1, 4}, {3, 5}}
	sorting.Stable(got, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	want := [][2]int{{1, 1}, {1, 4}, {2, 3}, {3, 0}, {3, 2}, {3, 5}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
}
