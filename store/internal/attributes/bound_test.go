// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

import (
	"slices"
	"testing"
)

// Of few all are looked at, of many the first and the last, each once.
func TestSeen(t *testing.T) {
	for _, n := range []int{0, 1, MaxSeen / 2, MaxSeen - 1, MaxSeen, MaxSeen + 1, 3 * MaxSeen, 1 << 20} {
		var got, want []int
		for i := 0; i < n; i = Next(i, n) {
			got = append(got, i)
		}
		for i := range min(n, MaxSeen) {
			if i >= MaxSeen/2 && n > MaxSeen {
				i += n - MaxSeen
			}
			want = append(want, i)
		}
		if !slices.Equal(got, want) || Unseen(n) != n-len(want) {
			t.Errorf("of %d: got %d, %d unseen, want %d, %d unseen", n, len(got), Unseen(n), len(want), n-len(want))
		}
	}
}
