// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"reflect"
	"slices"
	"testing"
)

// Spans that are analyzed together share the pieces, and one gets what others leave.
func TestAnalyzeTogether(t *testing.T) {
	_, tl := readRecording(t)
	var roots []int32
	dearest, most := int32(0), 0
	for root := range tl.Spans {
		if !tl.Spans[root].IsRoot() {
			continue
		}
		roots = append(roots, int32(root))
		if _, left := analyzeWithin(tl, int32(root), pieceBudget); pieceBudget-left > most {
			dearest, most = int32(root), pieceBudget-left
		}
	}
	const copies = 64
	for i, s := range analyzeTogether(tl, slices.Repeat([]int32{dearest}, copies), most, t.Context().Err) {
		if i < copies-1 && !s.Cut {
			t.Errorf("span %d of %d is whole by what one needs", i, copies)
		}
	}
	for i, s := range analyzeTogether(tl, roots, most*len(roots), t.Context().Err) {
		if want := analyzeSpan(tl, roots[i], pieceBudget); !reflect.DeepEqual(s, want) {
			t.Errorf("span %q: not all is there", want.Name)
		}
	}
	two := analyzeTogether(tl, []int32{dearest, dearest}, 2*most, t.Context().Err)
	if two[0].Cut || two[1].Cut {
		t.Error("two spans are cut by what two need")
	}
}
