// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"unsafe"
)

// interned is what a table needs of a pointer to its values.
type interned[V any] interface {
	*V
	hash(maphash.Seed) uint64
	equal(*V) bool
	// size is the memory of what the value alone points to.
	size() int64
}

// table keeps one copy of equal values and counts the references to it. It is
// not safe for concurrent use; the values in it may be read without a lock.
type table[V any, P interned[V]] struct {
	seed  maphash.Seed
	nodes countedMap[uint64, *node[V]]
	// size is the memory of the nodes and of what they point to.
	size int64
}

// node is a value of a table. Those with equal hashes form a list.
type node[V any] struct {
	next  *node[V]
	refs  int
	value V
}

func newTable[V any, P interned[V]](seed maphash.Seed) table[V, P] {
	return table[V, P]{seed: seed}
}

// intern returns the table's copy of v and whether it is new. A new value has
// no references: the caller retains it, together with what it points to.
func (t *table[V, P]) intern(v P) (_ P, fresh bool) {
	hash := v.hash(t.seed)
	for n := t.nodes.get(hash); n != nil; n = n.next {
		if v.equal(&n.value) {
			return &n.value, false
		}
	}
	n := &node[V]{next: t.nodes.get(hash), value: *v}
	t.nodes.set(hash, n)
	t.size += t.cost(v)
	return &n.value, true
}

func (t *table[V, P]) retain(v P) {
	for n := t.nodes.get(v.hash(t.seed)); n != nil; n = n.next {
		if &n.value == v {
			n.refs++
		}
	}
}

// release gives a reference back and reports whether it was the last one, and
// the value is gone.
func (t *table[V, P]) release(v P) bool {
	hash := v.hash(t.seed)
	for n, prev := t.nodes.get(hash), (*node[V])(nil); n != nil; n, prev = n.next, n {
		if &n.value != v {
			continue
		}
		n.refs--
		if n.refs > 0 {
			return false
		}
		switch {
		case prev != nil:
			prev.next = n.next
		case n.next != nil:
			t.nodes.set(hash, n.next)
		default:
			t.nodes.remove(hash)
		}
		t.size -= t.cost(v)
		return true
	}
	return false
}

func (t *table[V, P]) cost(v P) int64 {
	header := int64(unsafe.Sizeof(node[struct{}]{}))
	return allocSize(header+int64(unsafe.Sizeof(*v))) + v.size()
}

func (t *table[V, P]) bytes() int64 { return t.size + t.nodes.bytes() }
