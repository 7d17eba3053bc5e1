// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"maps"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// minShrink is the least number of elements at which a map is worth shrinking.
const minShrink = 64

// counted is a map that knows its memory. The runtime's maps never shrink, so
// what counts is how many elements one had at most; one that has lost three
// quarters of them is made anew.
type counted[K comparable, V any] struct {
	elements map[K]V
	peak     int
}

func (m *counted[K, V]) get(key K) V { return m.elements[key] }

func (m *counted[K, V]) set(key K, value V) {
	if m.elements == nil {
		m.elements = make(map[K]V)
	}
	m.elements[key] = value
	m.peak = max(m.peak, len(m.elements))
}

func (m *counted[K, V]) remove(key K) {
	delete(m.elements, key)
	n := len(m.elements)
	if n > 0 && (m.peak < minShrink || n > m.peak/4) {
		return
	}
	elements := make(map[K]V, n)
	maps.Copy(elements, m.elements)
	m.elements, m.peak = elements, n
}

func (m *counted[K, V]) bytes() int64 {
	var slot struct {
		key   K
		value V
	}
	return memory.Map(m.peak, int64(unsafe.Sizeof(slot)))
}
