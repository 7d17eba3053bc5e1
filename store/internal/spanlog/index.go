// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"math/bits"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// index finds records by the id of their spans. It is a hash table with open addressing
// that keeps half of the hash beside the place of the record, whose id decides. A map of
// Go takes three times as many bytes where keys come and go, and twice as long.
type index struct {
	slots []slot
	// shift makes the place of a slot of a hash.
	shift uint8
}

// slot has the upper half of a hash and a record; 0 is none.
type slot struct {
	hash uint32
	row  rowID
}

func hashOf(key ident.Key) uint32 {
	// Ids are random, but not those of every program.
	return uint32(uint64(key) * 0x9e3779b97f4a7c15 >> 32)
}

// slotsFor returns how many slots there are for n records.
func slotsFor(n int) int {
	if n == 0 {
		return 0
	}
	// Two thirds are full at most.
	return 1 << bits.Len(uint(n*3/2-1))
}

// indexSize is the memory of an index of n records.
func indexSize(n int) int64 {
	return memory.Alloc(int64(slotsFor(n)) * int64(unsafe.Sizeof(slot{})))
}

// grow makes room for n records.
func (x *index) grow(n int) {
	if slotsFor(n) <= len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, slotsFor(n))
	x.shift = uint8(32 - bits.Len(uint(len(x.slots)-1)))
	for _, s := range old {
		if s.row != 0 {
			*x.place(s.hash) = s
		}
	}
}

// place returns the first free slot for a hash.
func (x *index) place(hash uint32) *slot {
	mask := len(x.slots) - 1
	for i := int(hash >> x.shift); ; i++ {
		if s := &x.slots[i&mask]; s.row == 0 {
			return s
		}
	}
}

// slotOf returns the slot of a span, nil for none.
func (l *Log) slotOf(x *index, key ident.Key) *slot {
	if len(x.slots) == 0 {
		return nil
	}
	hash, mask := hashOf(key), len(x.slots)-1
	for i := int(hash >> x.shift); ; i++ {
		s := &x.slots[i&mask]
		if s.row == 0 {
			return nil
		}
		if s.hash == hash && ident.NewKey(l.row(s.row).SpanID) == key {
			return s
		}
	}
}

// setIndex makes a record that of a span. The record has the id of the span.
func (l *Log) setIndex(x *index, key ident.Key, id rowID) {
	if s := l.slotOf(x, key); s != nil {
		s.row = id
		return
	}
	hash := hashOf(key)
	*x.place(hash) = slot{hash, id}
}

// remove removes a record, unless another one is that of its span.
func (x *index) remove(key ident.Key, id rowID) {
	hash, mask := hashOf(key), len(x.slots)-1
	at := int(hash>>x.shift) & mask
	for x.slots[at].row != id {
		if x.slots[at].row == 0 {
			return
		}
		at = (at + 1) & mask
	}
	// Those behind it that are not in their own place move up.
	for next := (at + 1) & mask; x.slots[next].row != 0; next = (next + 1) & mask {
		home := int(x.slots[next].hash >> x.shift)
		if (next-home)&mask >= (next-at)&mask {
			x.slots[at] = x.slots[next]
			at = next
		}
	}
	x.slots[at] = slot{}
}
