// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "hash/maphash"

// nameMap finds names by their hashes. Where names come and go, a map of nameKey
// takes twice as many slots (go test -run TestTextsAreHonest).
type nameMap map[uint64]*spanName

func (k nameKey) hash(seed maphash.Seed) uint64 {
	return maphash.String(seed, k.value) + 3*maphash.String(seed, k.service)
}

// get returns nil if there is no such name.
func (m nameMap) get(hash uint64, key nameKey) *spanName {
	for n := m[hash]; n != nil; n = n.next {
		if n.nameKey == key {
			return n
		}
	}
	return nil
}

func (m nameMap) add(hash uint64, n *spanName) {
	n.next = m[hash]
	m[hash] = n
}

func (m nameMap) remove(hash uint64, n *spanName) {
	before := m[hash]
	if before != n {
		for before.next != n {
			before = before.next
		}
		before.next = n.next
		return
	}
	if n.next != nil {
		m[hash] = n.next
		return
	}
	delete(m, hash)
}
