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
// classes are 16 bytes apart at first, and about an eighth of the size later.
func allocSize(n int64) int64 {
	if n > 256 {
		return n + n/16
	}
	return (n + 15) &^ 15
}

// slotSize returns the share of a map's memory that one element takes: key,
// value and control byte, in a table that is between 7/16 and 7/8 full.
func slotSize(keyAndValue int64) int64 {
	return (keyAndValue + 1) * 3 / 2
}
