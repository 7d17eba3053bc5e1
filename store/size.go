// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "unsafe"

// The store counts its bytes instead of measuring the heap: it must know what
// one window costs, and what it frees. TestBytesAreHonest holds the counts
// against the heap.

const (
	stringSize  = int64(unsafe.Sizeof(""))
	pointerSize = int64(unsafe.Sizeof(uintptr(0)))
)

// allocSize returns what the runtime takes for an object of n bytes: its size
// classes are 8 and 16 bytes apart at first, and about an eighth of the size later.
func allocSize(n int64) int64 {
	switch {
	case n > 256:
		return n + n/16
	case n <= 32:
		return (n + 7) &^ 7
	default:
		return (n + 15) &^ 15
	}
}

// sliceSize returns the memory of a slice's elements, without what they point to.
func sliceSize[E any](s []E) int64 {
	var e E
	return allocSize(int64(cap(s)) * int64(unsafe.Sizeof(e)))
}

// mapSize returns the memory of a map that has had n elements at most: a power of
// two of slots, of which at most 7/8 are full, each for key, value and control
// byte.
func mapSize(n int, keyAndValue int64) int64 {
	if n == 0 {
		return 0
	}
	slots := int64(8)
	for slots*7/8 < int64(n) {
		slots *= 2
	}
	return slots * (keyAndValue + 1)
}

// churnedMapSize is mapSize for a map whose elements come and go: the runtime
// splits its tables for slots that were deleted too, until 5/8 are full at most
// (go test -run TestChurnedMaps).
func churnedMapSize(n int, keyAndValue int64) int64 {
	if n == 0 {
		return 0
	}
	slots := int64(8)
	for slots*5/8 < int64(n) {
		slots *= 2
	}
	return allocSize(slots * (keyAndValue + 1))
}

// churnSize is slotSize for such a map.
func churnSize(keyAndValue int64) int64 { return (keyAndValue + 1) * 5 / 2 }

// slotSize returns the share of a map's memory that one element takes, on
// average.
func slotSize(keyAndValue int64) int64 { return (keyAndValue + 1) * 3 / 2 }
