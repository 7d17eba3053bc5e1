// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"hash/maphash"
	"slices"
	"testing"
)

// Names with the same hash are told apart, in whatever order they go.
func TestNameMap(t *testing.T) {
	const hash = 1
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		m := nameMap{}
		names := []*Name{{NameKey: NameKey{"a", "x"}}, {NameKey: NameKey{"a", "y"}}, {NameKey: NameKey{"b", "x"}}}
		for _, n := range names {
			m.add(hash, n)
		}
		for i, gone := range order {
			m.remove(hash, names[gone])
			for j, n := range names {
				want := n
				if slices.Contains(order[:i+1], j) {
					want = nil
				}
				if got := m.get(hash, n.NameKey); got != want {
					t.Errorf("order %v, %d: got %v, want %v", order, i, got, want)
				}
			}
		}
		if len(m) != 0 {
			t.Errorf("order %v: %v is left", order, m)
		}
	}
	seed := maphash.MakeSeed()
	if (NameKey{"a", "b"}).hash(seed) == (NameKey{"b", "a"}).hash(seed) {
		t.Error("service and name are not told apart")
	}
}
