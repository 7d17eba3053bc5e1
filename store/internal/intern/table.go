// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package intern keeps one copy of equal values, for as long as anything refers to
// it.
package intern

import (
	"hash/maphash"
	"strings"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// Table keeps one copy of equal values and counts the references to it. It is not
// safe for concurrent use; the values in it may be read without a lock.
type Table[V any] struct {
	traits Traits[V]
	seed   maphash.Seed
	nodes  counted[uint64, *node[V]]
	// size is the memory of the nodes and of what they point to, keptSize that of
	// the ones that keepers alone refer to.
	size, keptSize int64
	// probe is the value that is looked for, so that it needs no memory of
	// its own.
	probe V
}

// Traits are what a table knows of its values.
type Traits[V any] struct {
	Hash  func(maphash.Seed, *V) uint64
	Equal func(a, b *V) bool
	// Size is the memory of what the value alone points to.
	Size func(*V) int64
	// Keep takes the references of a new value, which it may change into
	// something equal. Drop gives them back. Both may be nil.
	Keep, Drop func(*V)
	// Shift turns the references of a value into those of a keeper, or back. It
	// may be nil.
	Shift func(v *V, kept bool)
}

// Change says what became of a value when its references changed. Values that it
// refers to follow it; tables without Shift leave that to the caller.
type Change uint8

// The changes of a value.
const (
	// Same: nothing changed.
	Same Change = iota
	// Gone: nothing refers to it any more. It had references of its own, or, if
	// it is GoneKept, those of a keeper.
	Gone
	GoneKept
	// OnlyKept: keepers alone refer to it from now on.
	OnlyKept
	// Live: others than keepers refer to it again.
	Live
)

// node is a value of a table. Those with equal hashes form a list.
type node[V any] struct {
	next *node[V]
	// refs counts the references except those of keepers, which kept counts.
	refs, kept int32
	value      V
}

// New returns an empty table.
func New[V any](traits Traits[V]) *Table[V] {
	return &Table[V]{traits: traits, seed: maphash.MakeSeed()}
}

// NewComparable returns an empty table of values that == compares, and that alone
// point to nothing. keep, drop and shift are those of Traits.
func NewComparable[V comparable](keep, drop func(*V), shift func(*V, bool)) *Table[V] {
	return New(Traits[V]{
		Keep:  keep,
		Drop:  drop,
		Shift: shift,
		Hash:  func(seed maphash.Seed, v *V) uint64 { return maphash.Comparable(seed, *v) },
		Equal: func(a, b *V) bool { return *a == *b },
		Size:  func(*V) int64 { return 0 },
	})
}

// Intern returns the table's copy of v. A new value has no references: the caller
// retains it.
func (t *Table[V]) Intern(v V) *V {
	own, hash := t.find(v)
	if own != nil {
		return own
	}
	n := &node[V]{next: t.nodes.get(hash), value: v}
	t.nodes.set(hash, n)
	t.size += t.cost(&n.value)
	if t.traits.Keep != nil {
		t.traits.Keep(&n.value)
	}
	return &n.value
}

// find returns the table's copy of v, nil if there is none, and the hash.
func (t *Table[V]) find(v V) (*V, uint64) {
	t.probe = v
	hash := t.traits.Hash(t.seed, &t.probe)
	n := t.nodes.get(hash)
	for n != nil && !t.traits.Equal(&t.probe, &n.value) {
		n = n.next
	}
	t.probe = *new(V)
	if n == nil {
		return nil, hash
	}
	return &n.value, hash
}

// Retain adds a reference to a value of the table.
func (t *Table[V]) Retain(v *V) Change { return t.change(v, 1, 0) }

// Release gives a reference back.
func (t *Table[V]) Release(v *V) Change { return t.change(v, -1, 0) }

// RetainKept is Retain for a keeper: what outlives that with which the value came,
// and is charged for values that nothing else refers to.
func (t *Table[V]) RetainKept(v *V) Change { return t.change(v, 0, 1) }

// ReleaseKept gives a reference of RetainKept back.
func (t *Table[V]) ReleaseKept(v *V) Change { return t.change(v, 0, -1) }

// Shift turns a reference into one of a keeper, or back.
func (t *Table[V]) Shift(v *V, kept bool) Change {
	if kept {
		return t.change(v, -1, 1)
	}
	return t.change(v, 1, -1)
}

// change changes the numbers of references to a value.
func (t *Table[V]) change(v *V, refs, kept int32) Change {
	hash := t.traits.Hash(t.seed, v)
	for n, prev := t.nodes.get(hash), (*node[V])(nil); n != nil; n, prev = n.next, n {
		if &n.value != v {
			continue
		}
		was := n.refs == 0 && n.kept > 0
		n.refs += refs
		n.kept += kept
		only := n.refs == 0 && n.kept > 0
		gone := n.refs == 0 && n.kept == 0
		switch {
		case was == only && !gone:
			return Same
		case gone:
			t.remove(hash, n, prev)
			return t.drop(v, was)
		case only:
			t.keptSize += t.keptCost(v)
		default:
			t.keptSize -= t.keptCost(v)
		}
		if t.traits.Shift != nil {
			t.traits.Shift(v, only)
		}
		if only {
			return OnlyKept
		}
		return Live
	}
	return Same
}

// drop gives back the references of a value that is gone.
func (t *Table[V]) drop(v *V, wasKept bool) Change {
	t.size -= t.cost(v)
	if wasKept {
		t.keptSize -= t.keptCost(v)
		if t.traits.Shift != nil {
			t.traits.Shift(v, false)
		}
	}
	if t.traits.Drop != nil {
		t.traits.Drop(v)
	}
	if wasKept {
		return GoneKept
	}
	return Gone
}

// remove takes a node, which comes after prev, out of the table.
func (t *Table[V]) remove(hash uint64, n, prev *node[V]) {
	switch {
	case prev != nil:
		prev.next = n.next
	case n.next != nil:
		t.nodes.set(hash, n.next)
	default:
		t.nodes.remove(hash)
	}
}

func (t *Table[V]) cost(v *V) int64 {
	return memory.Alloc(int64(unsafe.Sizeof(node[V]{}))) + t.traits.Size(v)
}

// keptCost is what a value takes that a keeper is charged for, with its place in the
// table.
func (t *Table[V]) keptCost(v *V) int64 {
	return t.cost(v) + memory.Slot(8+memory.Pointer)
}

// Len returns the number of values.
func (t *Table[V]) Len() int { return len(t.nodes.elements) }

// Bytes returns the memory of the table and its values.
func (t *Table[V]) Bytes() int64 { return t.size + t.nodes.bytes() }

// KeptBytes returns the memory of the values that keepers alone refer to.
func (t *Table[V]) KeptBytes() int64 { return t.keptSize }

// Texts keeps one copy of equal strings. The empty one costs nothing.
type Texts struct{ table *Table[string] }

// NewTexts returns an empty table of strings.
func NewTexts() Texts {
	// A copy: the text may be a slice of something big.
	t := NewComparable(func(s *string) { *s = strings.Clone(*s) }, nil, nil)
	t.traits.Size = func(s *string) int64 { return memory.Alloc(int64(len(*s))) }
	return Texts{t}
}

// Retain returns the one copy of s, with a reference to it.
func (t Texts) Retain(s string) string {
	if s == "" {
		return ""
	}
	own := t.table.Intern(s)
	t.table.Retain(own)
	return *own
}

// Release gives a reference to s back.
func (t Texts) Release(s string) {
	if own, _ := t.table.find(s); own != nil {
		t.table.Release(own)
	}
}

// RetainKept is Retain for a keeper; s is in the table.
func (t Texts) RetainKept(s string) {
	if own, _ := t.table.find(s); own != nil {
		t.table.RetainKept(own)
	}
}

// ReleaseKept gives a reference of RetainKept back.
func (t Texts) ReleaseKept(s string) {
	if own, _ := t.table.find(s); own != nil {
		t.table.ReleaseKept(own)
	}
}

// Shift turns references into those of a keeper, or back.
func (t Texts) Shift(kept bool, texts ...string) {
	for _, s := range texts {
		if own, _ := t.table.find(s); own != nil {
			t.table.Shift(own, kept)
		}
	}
}

// Keep replaces texts by the one copy of each, with a reference.
func (t Texts) Keep(texts ...*string) {
	for _, s := range texts {
		*s = t.Retain(*s)
	}
}

// Drop gives references back.
func (t Texts) Drop(texts ...string) {
	for _, s := range texts {
		t.Release(s)
	}
}

// Len returns the number of texts.
func (t Texts) Len() int { return t.table.Len() }

// Bytes returns the memory of the texts.
func (t Texts) Bytes() int64 { return t.table.Bytes() }

// KeptBytes returns the memory of the texts that keepers alone refer to.
func (t Texts) KeptBytes() int64 { return t.table.KeptBytes() }
