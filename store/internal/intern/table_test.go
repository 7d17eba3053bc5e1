// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package intern_test

import (
	"hash/maphash"
	"testing"

	"github.com/spanprof/spanprof/store/internal/intern"
)

// Values with the same hash are told apart, in whatever order they go.
func TestTableCollisions(t *testing.T) {
	// Every place in the list: last, in the middle, first.
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}} {
		kept, dropped := 0, 0
		table := intern.New(intern.Traits[int]{
			Hash:  func(maphash.Seed, *int) uint64 { return 1 },
			Equal: func(a, b *int) bool { return *a == *b },
			Size:  func(*int) int64 { return 8 },
			Keep:  func(*int) { kept++ },
			Drop:  func(*int) { dropped++ },
		})
		var values []*int
		for i := range 3 {
			own, again := table.Intern(i), table.Intern(i)
			if own != again || kept != i+1 {
				t.Fatal("not interned:", i)
			}
			table.Retain(own)
			table.Retain(own)
			values = append(values, own)
		}
		for _, i := range order {
			if table.Release(values[i]) {
				t.Error("gone with a reference left:", i)
			}
			if !table.Release(values[i]) {
				t.Error("not gone without a reference:", i)
			}
			if table.Release(values[i]) {
				t.Error("gone twice:", i)
			}
		}
		if dropped != 3 {
			t.Errorf("got %d values dropped, want 3", dropped)
		}
		if table.Len() != 0 || table.Bytes() != 0 {
			t.Error("left:", table.Len(), table.Bytes())
		}
	}
}

func TestTexts(t *testing.T) {
	texts := intern.NewTexts()
	first, second := texts.Retain("a"), texts.Retain("a")
	if first != "a" || second != "a" || texts.Len() != 1 || texts.Bytes() == 0 {
		t.Errorf("got %q and %q, %d texts of %d bytes", first, second, texts.Len(), texts.Bytes())
	}
	texts.Release("a")
	texts.Release("never there")
	if texts.Len() != 1 {
		t.Errorf("got %d texts, want 1", texts.Len())
	}
	texts.Release("a")
	if got := texts.Retain(""); got != "" || texts.Len() != 0 || texts.Bytes() != 0 {
		t.Errorf("got %q, %d texts of %d bytes, want none", got, texts.Len(), texts.Bytes())
	}
}
