// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"maps"
	"sync"
	"sync/atomic"
)

// boundedMap is a map with strings as keys that is read on the path of every span and
// written a few times in the life of a process. Reading takes no lock and writes
// no shared memory. Writing copies the map, but not for every new key of a big
// one: copies grow with the number of keys, not with its square.
type boundedMap[V any] struct {
	max int
	m   atomic.Pointer[map[string]V]

	mu sync.Mutex
	// fresh are the entries that m lacks, misses is how often it was asked for
	// one of them.
	fresh  map[string]V
	misses int
}

func newBoundedMap[V any](n int) *boundedMap[V] {
	b := &boundedMap[V]{max: n, fresh: map[string]V{}}
	b.m.Store(&map[string]V{})
	return b
}

// get returns the value of a key. It may not know one that was just added; add
// does.
func (b *boundedMap[V]) get(key string) (V, bool) {
	value, ok := (*b.m.Load())[key]
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
