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
// a fixed number. Where there is no place, the one of least worth goes, but before it
// what is not waited for any more.
type remains[V any] struct {
	maxBytes int64
	slots    []remnant[V]
}

type remnant[V any] struct {
	key ident.Key
	// until is the time until which it is waited for, in nanoseconds since 1970.
	worth, until int64
	value        V
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

// put enters a key that is waited for from now until a time. It returns what went for it,
// which may be the key's own; full says that this was waited for. grown is the memory that
// it took.
func (m *remains[V]) put(key ident.Key, worth, now, until int64, v V) (gone V, full bool, grown int64) {
	if len(m.slots) == 0 {
		n := int(m.maxBytes/int64(unsafe.Sizeof(remnant[V]{}))) / ways * ways
		if n == 0 {
			return v, true, 0
		}
		m.slots = make([]remnant[V], n)
		grown = memory.Slice(m.slots)
	}
	set := m.set(key)
	var old *remnant[V]
	for i := range set {
		switch s := &set[i]; {
		case s.key == key:
			gone = s.value
			*s = remnant[V]{key: key, worth: worth, until: until, value: v}
			return gone, false, grown
		case old == nil, s.worthAt(now) < old.worthAt(now):
			old = s
		}
	}
	least := old.worthAt(now)
	if least > worth {
		return v, true, grown
	}
	gone, full = old.value, least >= 0
	*old = remnant[V]{key: key, worth: worth, until: until, value: v}
	return gone, full, grown
}

// worthAt is below 0 for what is not waited for any more, and for nothing.
func (r *remnant[V]) worthAt(now int64) int64 {
	if r.key == 0 || r.until <= now {
		return -1
	}
	return r.worth
}
