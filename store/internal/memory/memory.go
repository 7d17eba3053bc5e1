// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory counts the bytes that the runtime takes for the store's data. The store
// counts instead of measuring the heap, because it needs the memory of one window. A live
// test of package store compares the counts with the heap.
package memory

import (
	"math"
	"slices"
	"unsafe"
)

// String is the size of a string's header.
const String = int64(unsafe.Sizeof(""))

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
// two of slots for key, value and control byte. At most 7/8 of the slots are full.
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

// Column is numbers that are kept in as few bytes as the greatest needs. In a
// window of CPU samples nearly all fit into one or two.
type Column struct {
	narrow []uint8
	middle []uint16
	wide   []uint32
}

// NewColumn returns a column of the values, which it may keep.
func NewColumn(values []uint32) Column {
	if len(values) == 0 {
		return Column{}
	}
	switch greatest := slices.Max(values); {
	case greatest <= math.MaxUint8:
		return Column{narrow: convert[uint8](values)}
	case greatest <= math.MaxUint16:
		return Column{middle: convert[uint16](values)}
	default:
		return Column{wide: values}
	}
}

func convert[N uint8 | uint16](values []uint32) []N {
	converted := make([]N, len(values))
	for i, v := range values {
		converted[i] = N(v)
	}
	return converted
}

// At returns the i-th number.
func (c *Column) At(i int) int {
	switch {
	case c.narrow != nil:
		return int(c.narrow[i])
	case c.middle != nil:
		return int(c.middle[i])
	default:
		return int(c.wide[i])
	}
}

// Size returns the memory of the numbers.
func (c *Column) Size() int64 {
	return Slice(c.narrow) + Slice(c.middle) + Slice(c.wide)
}

// Len returns how many numbers there are.
func (c *Column) Len() int { return len(c.narrow) + len(c.middle) + len(c.wide) }
