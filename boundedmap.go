// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// boundedMap is a map with strings as keys that is read on the path of every span and
// written a few times in the life of a process. Reading takes no lock, and writes shared
// memory once for each slot at most. Writing copies the map, but not for every new key of a
// big one: copies grow with the number of keys, not with its square.
type boundedMap[V any] struct {
	max int
	m   atomic.Pointer[map[string]V]
	// recent has entries of m by slotOf, which are found without a hash of the whole key.
	recent [slots]atomic.Pointer[entry[V]]

	mu sync.Mutex
	// fresh are the entries that m lacks, misses is how often it was asked for
	// one of them.
	fresh  map[string]V
	misses int
}

type entry[V any] struct {
	key   string
	value V
}

// slots is a power of two.
const slots = 64

// slotOf returns where in recent a key may be.
func slotOf(key string) uint {
	n := uint(len(key))
	if n == 0 {
		return 0
	}
	return (n + uint(key[0])*5 + uint(key[n/2])*11 + uint(key[n-1])*23) % slots
}

func newBoundedMap[V any](n int) *boundedMap[V] {
	b := &boundedMap[V]{max: n, fresh: map[string]V{}}
	b.m.Store(&map[string]V{})
	return b
}

// get returns the value of a key. It may not know one that was just added; add
// does.
func (b *boundedMap[V]) get(key string) (V, bool) {
	slot := &b.recent[slotOf(key)]
	recent := slot.Load()
	if recent != nil && recent.key == key {
		return recent.value, true
	}
	value, ok := (*b.m.Load())[key]
	if ok && recent == nil {
		// The first key of a slot stays there: two that took turns would write each time.
		// Cloned, as the caller's may be a part of a long text.
		slot.CompareAndSwap(nil, &entry[V]{strings.Clone(key), value})
	}
	return value, ok
}

// full reports whether add has room for no more keys, which get then knows all of.
func (b *boundedMap[V]) full() bool { return len(*b.m.Load()) >= b.max }

// add sets the value of a key that has none. It returns the value of the key,
// and false if the map is full.
func (b *boundedMap[V]) add(key string, value V) (V, bool) {
	if b.full() {
		return b.get(key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := *b.m.Load()
	if present, ok := m[key]; ok {
		return present, true
	}
	if len(m) >= b.max {
		var none V
		return none, false
	}
	if present, ok := b.fresh[key]; ok {
		value = present
	} else {
		b.fresh[key] = value
	}
	b.misses++
	if b.misses > len(m)/8 || len(m)+len(b.fresh) >= b.max {
		next := maps.Clone(m)
		maps.Copy(next, b.fresh)
		b.m.Store(&next)
		clear(b.fresh)
		b.misses = 0
	}
	return value, true
}
