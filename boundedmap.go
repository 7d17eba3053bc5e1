// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"maps"
	"sync"
	"sync/atomic"
)

// boundedMap is a map of strings that is read on the path of every span and
// written a few times in the life of a process. Reading takes no lock and writes
// no shared memory. Writing copies the map, but not for every new key of a big
// one: copies grow with the number of keys, not with its square.
type boundedMap struct {
	max int
	m   atomic.Pointer[map[string]string]

	mu sync.Mutex
	// fresh are the entries that m lacks, misses is how often it was asked for
	// one of them.
	fresh  map[string]string
	misses int
}

func newBoundedMap(n int) *boundedMap {
	b := &boundedMap{max: n, fresh: map[string]string{}}
	b.m.Store(&map[string]string{})
	return b
}

// get returns the value of a key. It may not know one that was just added; add
// does.
func (b *boundedMap) get(key string) (string, bool) {
	value, ok := (*b.m.Load())[key]
	return value, ok
}

// full reports whether add has room for no more keys, which get then knows all of.
func (b *boundedMap) full() bool { return len(*b.m.Load()) >= b.max }

// add sets the value of a key that has none. It returns the value of the key,
// and false if the map is full.
func (b *boundedMap) add(key, value string) (string, bool) {
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
		return "", false
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
