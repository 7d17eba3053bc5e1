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
// no shared memory; writing copies the map.
type boundedMap struct {
	max int
	m   atomic.Pointer[map[string]string]
	mu  sync.Mutex // held to replace m
}

func newBoundedMap(n int) *boundedMap {
	b := &boundedMap{max: n}
	b.m.Store(&map[string]string{})
	return b
}

func (b *boundedMap) get(key string) (string, bool) {
	value, ok := (*b.m.Load())[key]
	return value, ok
}

// add sets the value of a key that has none. It returns the value of the key,
// and false if the map is full.
func (b *boundedMap) add(key, value string) (string, bool) {
	if len(*b.m.Load()) >= b.max {
		return b.get(key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.m.Load()
	if present, ok := old[key]; ok {
		return present, true
	}
	if len(old) >= b.max {
		return "", false
	}
	next := maps.Clone(old)
	next[key] = value
	b.m.Store(&next)
	return value, true
}
