// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"slices"
	"unsafe"
)

// Stack is a call stack. Stacks are shared and must not be changed; equal
// stacks of one store are the same pointer while the store holds them.
type Stack struct {
	// Locations are ordered from the leaf to the root.
	Locations []*Location
}

func (s *Stack) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, l := range s.Locations {
		maphash.WriteComparable(&h, l)
	}
	return h.Sum64()
}

func (s *Stack) equal(other *Stack) bool { return slices.Equal(s.Locations, other.Locations) }

func (s *Stack) size() int64 {
	return int64(unsafe.Sizeof(*s)) + allocSize(int64(len(s.Locations))*pointerSize)
}
