// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package frames_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spanprof/spanprof/store/internal/frames"
	"github.com/spanprof/spanprof/store/internal/intern"
)

// add adds a stack with one reference, from the root to the leaf.
func add(t *frames.Table, stack []uint32) (leaf frames.ID) {
	for _, l := range stack {
		id, isNew := t.Intern(leaf, l)
		if isNew {
			change(t, leaf, 1, 0)
		}
		leaf = id
	}
	change(t, leaf, 1, 0)
	return leaf
}

// change changes the references to a leaf, and what follows from that.
func change(t *frames.Table, id frames.ID, refs, kept int32) {
	for id != 0 {
		parent, _ := t.At(id)
		switch t.Change(id, refs, kept) {
		case intern.Same:
			return
		case intern.Gone:
			refs, kept = -1, 0
		case intern.GoneKept:
			refs, kept = 0, -1
		case intern.OnlyKept:
			refs, kept = -1, 1
		case intern.Live:
			refs, kept = 1, -1
		}
		id = parent
	}
}

func read(r frames.Reader, leaf frames.ID) (stack []uint32) {
	for leaf != 0 {
		var location uint32
		leaf, location = r.At(leaf)
		stack = append(stack, location)
	}
	slices.Reverse(stack)
	return stack
}

// A table has the stacks that a plain model has, and a reader those that it had at first,
// however the places are used since.
func TestTableAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table := frames.New()
	type held struct {
		leaf  frames.ID
		stack []uint32
		kept  bool
	}
	type moment struct {
		reader frames.Reader
		held   []held
	}
	var (
		all     []held
		moments []moment
	)
	for step := range 20_000 {
		// It grows for a while, then shrinks, down to nothing now and then.
		grows := step/2000%2 == 0
		switch n := random.IntN(10); {
		case n < 2 || grows && n < 7 || len(all) == 0:
			stack := make([]uint32, 1+random.IntN(12))
			for i := range stack {
				stack[i] = uint32(random.IntN(3 + i))
			}
			all = append(all, held{leaf: add(table, stack), stack: stack})
		case n < 3:
			// It outlives what it came with.
			if h := &all[random.IntN(len(all))]; !h.kept {
				change(table, h.leaf, 0, 1)
				change(table, h.leaf, -1, 0)
				h.kept = true
			}
		default:
			i := random.IntN(len(all))
			refs, kept := int32(-1), int32(0)
			if all[i].kept {
				refs, kept = 0, -1
			}
			change(table, all[i].leaf, refs, kept)
			all = slices.Delete(all, i, i+1)
		}
		if step%50 == 0 {
			moments = append(moments, moment{table.Reader(), slices.Clone(all)})
			if len(moments) > 5 {
				moments = moments[1:]
			}
		}
		if step%100 != 0 {
			continue
		}
		distinct, live := map[string]bool{}, map[string]bool{}
		for _, h := range all {
			for depth := range h.stack {
				key := string(bytesOf(h.stack[:depth+1]))
				distinct[key] = true
				live[key] = live[key] || !h.kept
			}
		}
		kept := 0
		for _, isLive := range live {
			if !isLive {
				kept++
			}
		}
		if table.Len() != len(distinct) || (table.KeptBytes() == 0) != (kept == 0) || (len(all) == 0) != (table.Bytes() == 0) {
			t.Fatalf("step %d: %d frames, %d bytes, %d of keepers alone; want %d frames, %d of keepers", step, table.Len(), table.Bytes(), table.KeptBytes(), len(distinct), kept)
		}
		for _, m := range append(moments, moment{table.Reader(), all}) {
			for _, h := range m.held {
				if got := read(m.reader, h.leaf); !slices.Equal(got, h.stack) {
					t.Fatalf("step %d: stack %v, want %v", step, got, h.stack)
				}
			}
		}
	}
}

func bytesOf(stack []uint32) (b []byte) {
	for _, l := range stack {
		b = append(b, byte(l))
	}
	return b
}

// More references than a frame has bits for are counted beside it.
func TestManyReferences(t *testing.T) {
	table := frames.New()
	leaf := add(table, []uint32{1, 2})
	const many = 200_000
	for range many {
		change(table, leaf, 1, 0)
		change(table, leaf, 0, 1)
	}
	for range many {
		change(table, leaf, 0, -1)
		change(table, leaf, -1, 0)
	}
	if table.Len() != 2 {
		t.Errorf("%d frames, want 2", table.Len())
	}
	if change(table, leaf, -1, 0); table.Len() != 0 || table.Bytes() != 0 {
		t.Errorf("%d frames in %d bytes are left", table.Len(), table.Bytes())
	}
}

// A frame takes few bytes, also after others came and went.
func TestBytesPerFrame(t *testing.T) {
	table := frames.New()
	const n = 100_000
	for i := range uint32(n) {
		add(table, []uint32{i % 300, i})
	}
	if per := float64(table.Bytes()) / float64(table.Len()); per > 20 {
		t.Errorf("%.1f bytes a frame, want 20 at most", per)
	}
	full := table.Bytes()
	for i := range uint32(n) {
		leaf := add(table, []uint32{i % 300, i})
		change(table, leaf, -2, 0)
		add(table, []uint32{i % 300, n + i})
	}
	if table.Len() < n || table.Bytes() > full+full/20 {
		t.Errorf("%d frames take %d bytes after as many others took %d", table.Len(), table.Bytes(), full)
	}
}
