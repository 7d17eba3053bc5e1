// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory tells how many bytes the runtime takes for what the store keeps.
// The store counts its bytes instead of measuring the heap: it must know what one
// window costs, and what it frees. TestBytesAreHonest holds the counts against
// the heap.
package memory

import "unsafe"

// The sizes of a string's header and of a pointer.
const (
	String  = int64(unsafe.Sizeof(""))
	Pointer = int64(unsafe.Sizeof(uintptr(0)))
)

// Alloc returns what the runtime takes for an object of n bytes: its size
// classes are 8 and 16 bytes apart at first, and about an eighth of the size later.
func Alloc(n int64) int64 {
	switch {
	case n > 256:
		return n + n/16
	case n <= 32:
		return (n + 7) &^ 7
	default:
		return (n + 15) &^ 15
	}
}

// Slice returns the memory of a slice's elements, without what they point to.
func Slice[E any](s []E) int64 {
	var e E
	return Alloc(int64(cap(s)) * int64(unsafe.Sizeof(e)))
}

// Map returns the memory of a map that has had n elements at most: a power of
// two of slots, of which at most 7/8 are full, each for key, value and control
// byte.
func Map(n int, keyAndValue int64) int64 {
	if n == 0 {
		return 0
	}
	slots := int64(8)
	for slots*7/8 < int64(n) {
		slots *= 2
	}
	return slots * (keyAndValue + 1)
}

// ChurnedMap is Map for a map whose elements come and go: the runtime
// splits its tables for slots that were deleted too, until 5/8 are full at most
// (go test -tags live -run TestChurnedMaps).
func ChurnedMap(n int, keyAndValue int64) int64 {
	if n == 0 {
		return 0
	}
	slots := int64(8)
	for slots*5/8 < int64(n) {
		slots *= 2
	}
	return Alloc(slots * (keyAndValue + 1))
}

// ChurnedSlot is Slot for such a map.
func ChurnedSlot(keyAndValue int64) int64 { return (keyAndValue + 1) * 5 / 2 }

// Slot returns the share of a map's memory that one element takes, on
// average.
func Slot(keyAndValue int64) int64 { return (keyAndValue + 1) * 3 / 2 }
