// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package intern_test

import (
	"hash/maphash"
	"slices"
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
			if table.Release(values[i]) != intern.Same {
				t.Error("gone with a reference left:", i)
			}
			if table.Release(values[i]) != intern.Gone {
				t.Error("not gone without a reference:", i)
			}
			if table.Release(values[i]) != intern.Same {
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

// What keepers alone refer to is charged to them, with all that it refers to in turn.
func TestKeptBytes(t *testing.T) {
	type pair struct{ a, b string }
	for name, release := range map[string]func(*intern.Table[pair], *pair) []intern.Change{
		"the keeper last": func(table *intern.Table[pair], p *pair) []intern.Change {
			return []intern.Change{table.Release(p), table.Retain(p), table.Release(p), table.ReleaseKept(p)}
		},
		"the keeper first": func(table *intern.Table[pair], p *pair) []intern.Change {
			return []intern.Change{table.ReleaseKept(p), table.RetainKept(p), table.ReleaseKept(p), table.Release(p)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			texts := intern.NewTexts()
			table := intern.NewComparable(
				func(p *pair) { texts.Keep(&p.a, &p.b) },
				func(p *pair) { texts.Drop(p.a, p.b) },
				func(p *pair, kept bool) { texts.Shift(kept, p.a, p.b) })
			// The texts of the first pair are those of another one in part.
			other := table.Intern(pair{"a", "c"})
			table.Retain(other)
			own := table.Intern(pair{"a", "b"})
			table.Retain(own)
			table.RetainKept(own)
			if kept := table.KeptBytes() + texts.KeptBytes(); kept != 0 {
				t.Errorf("%d bytes are charged for what others refer to", kept)
			}
			changes := release(table, own)
			want := []intern.Change{intern.OnlyKept, intern.Live, intern.OnlyKept, intern.GoneKept}
			if name == "the keeper first" {
				want = []intern.Change{intern.Same, intern.Same, intern.Same, intern.Gone}
			}
			if !slices.Equal(changes, want) {
				t.Errorf("changes: got %v, want %v", changes, want)
			}
			if kept := table.KeptBytes() + texts.KeptBytes(); kept != 0 || table.Len() != 1 || texts.Len() != 2 {
				t.Errorf("%d bytes are charged, %d pairs and %d texts left", kept, table.Len(), texts.Len())
			}
			table.RetainKept(other)
			table.Release(other)
			if table.KeptBytes() == 0 || texts.KeptBytes() == 0 {
				t.Error("nothing is charged for what a keeper has alone")
			}
			table.ReleaseKept(other)
			if table.Bytes() != 0 || texts.Bytes() != 0 || table.KeptBytes() != 0 || texts.KeptBytes() != 0 {
				t.Error("left:", table.Bytes(), texts.Bytes(), table.KeptBytes(), texts.KeptBytes())
			}
		})
	}
}
