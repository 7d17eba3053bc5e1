// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// ways is how many places there are for a key.
const ways = 8

// remains are what is left of things that made room, found by id, in few bytes and of
// a fixed number. Where there is no place, the one of least worth goes.
type remains[V any] struct {
	maxBytes int64
	slots    []remnant[V]
}

type remnant[V any] struct {
	key   ident.Key
	worth int64
	value V
}

// set returns the places for a key, nil if there are none yet.
func (m *remains[V]) set(key ident.Key) []remnant[V] {
	if len(m.slots) == 0 {
		return nil
	}
	// Ids are random.
	i := uint64(key) % uint64(len(m.slots)/ways) * ways
	return m.slots[i : i+ways]
}

// get returns what is left of a key, nil for nothing. put may make it another's.
func (m *remains[V]) get(key ident.Key) *V {
	set := m.set(key)
	for i := range set {
		if set[i].key == key && key != 0 {
			return &set[i].value
		}
	}
	return nil
}

// take removes what is left of a key, and reports whether there was anything.
func (m *remains[V]) take(key ident.Key) (v V, ok bool) {
	set := m.set(key)
	for i := range set {
		if set[i].key == key && key != 0 {
			v = set[i].value
			set[i] = remnant[V]{}
			return v, true
		}
	}
	return v, false
}

// put enters a key. It returns what went for it, which may be the key's own, and grown,
// the memory that this took.
func (m *remains[V]) put(key ident.Key, worth int64, v V) (gone V, full bool, grown int64) {
	if len(m.slots) == 0 {
		n := int(m.maxBytes/int64(unsafe.Sizeof(remnant[V]{}))) / ways * ways
		if n == 0 {
			return v, true, 0
		}
		m.slots = make([]remnant[V], n)
		grown = memory.Slice(m.slots)
	}
	set := m.set(key)
	least := 0
	for i := range set {
		if set[i].key == 0 || set[i].key == key {
			least = i
			break
		}
		if set[i].worth < set[least].worth {
			least = i
		}
	}
	old := &set[least]
	full = old.key != 0 && old.key != key
	if full && old.worth > worth {
		return v, true, grown
	}
	gone = old.value
	*old = remnant[V]{key: key, worth: worth, value: v}
	return gone, full, grown
}
