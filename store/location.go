// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"slices"
	"unsafe"
)

// Location is an instruction address and the source lines it stands for.
type Location struct {
	Address uint64
	// Mapping is where the address is from; nil where that is not known.
	Mapping *Mapping
	// Lines has more than one element where functions were inlined: the
	// last is the caller into which the preceding ones were inlined. It is
	// empty where the address has no symbol.
	Lines []Line

	folded bool
}

// Line is a line of source code.
type Line struct {
	// Function is never nil.
	Function *Function
	Line     int64

	column int64
}

func (l *Location) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, l.Address)
	maphash.WriteComparable(&h, l.Mapping)
	for _, line := range l.Lines {
		maphash.WriteComparable(&h, line)
	}
	return h.Sum64()
}

func (l *Location) equal(other *Location) bool {
	return l.Address == other.Address && l.Mapping == other.Mapping && l.folded == other.folded &&
		slices.Equal(l.Lines, other.Lines)
}

func (l *Location) size() int64 {
	return allocSize(int64(len(l.Lines)) * int64(unsafe.Sizeof(Line{})))
}
