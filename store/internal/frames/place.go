// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// place takes a free place, and returns its id. Those of the first chunks are used at
// first, so that the last ones come to be empty.
func (t *Table) place() ID {
	n := t.room.first()
	if n < 0 {
		n = t.newChunk()
	}
	c := t.counts[n]
	var i uint16
	if c.free > 0 {
		i = c.free - 1
		c.free, c.refs[i] = c.refs[i], 0
		// A reader may have the frame that was here.
		t.own(n)
	} else {
		i = c.fresh
		c.fresh++
	}
	if c.used++; c.used == chunkLen {
		t.room.set(n, false)
	}
	return ID(n*chunkLen) + ID(i) + 1
}

// newChunk adds a chunk, where one was given up if there is such a place.
func (t *Table) newChunk() int {
	n := len(t.chunks)
	if t.live < n {
		n = slices.Index(t.chunks, nil)
	} else {
		t.chunks, t.counts = append(t.chunks, nil), append(t.counts, nil)
	}
	t.setChunk(n, new(chunk))
	t.counts[n] = &counts{epoch: t.epoch}
	t.live++
	t.room.set(n, true)
	return n
}

// own makes sure that no reader has a chunk.
func (t *Table) own(n int) {
	if t.counts[n].epoch == t.epoch {
		return
	}
	c := *t.chunks[n]
	t.setChunk(n, &c)
	t.counts[n].epoch = t.epoch
}

func (t *Table) setChunk(n int, c *chunk) {
	if t.shared {
		t.chunks, t.shared = slices.Clone(t.chunks), false
	}
	t.chunks[n] = c
}

// remove gives the place of a frame up. What a reader may read of it stays.
func (t *Table) remove(id ID) {
	t.forget(id)
	t.setCount(id, false, t.count(id, false), 0)
	t.setCount(id, true, t.count(id, true), 0)
	n, i := int((id-1)/chunkLen), uint16((id-1)%chunkLen)
	c := t.counts[n]
	c.refs[i], c.free = c.free, i+1
	t.room.set(n, true)
	if c.used--; c.used > 0 {
		return
	}
	if t.live--; t.live == 0 {
		*t = Table{seed: t.seed, epoch: t.epoch}
		return
	}
	t.setChunk(n, nil)
	t.counts[n] = nil
	t.room.set(n, false)
	// setChunk has left no reader with the list.
	last := len(t.counts)
	for t.counts[last-1] == nil {
		last--
	}
	t.chunks, t.counts = t.chunks[:last], t.counts[:last]
	if last < cap(t.counts)/4 {
		t.chunks, t.counts, t.room = slices.Clone(t.chunks), slices.Clone(t.counts), slices.Clone(t.room[:(last+63)/64])
	}
}

func (t *Table) home(parent ID, location uint32) int {
	h := maphash.Comparable(t.seed, uint64(parent)<<32|uint64(location))
	place, _ := bits.Mul64(h, uint64(len(t.slots)))
	return int(place)
}

// find returns the slot of a frame, or the free one where it belongs.
func (t *Table) find(parent ID, location uint32) int {
	i := t.home(parent, location)
	for t.slots[i] != 0 {
		if p, l := t.At(t.slots[i]); p == parent && l == location {
			return i
		}
		i = t.after(i)
	}
	return i
}

func (t *Table) after(i int) int {
	if i++; i == len(t.slots) {
		return 0
	}
	return i
}

// forget takes a frame out of the slots, and moves those up that had to go past it.
func (t *Table) forget(id ID) {
	hole := t.find(t.At(id))
	for i := t.after(hole); t.slots[i] != 0; i = t.after(i) {
		home := t.home(t.At(t.slots[i]))
		// It stays if its home is after the hole, on the way round to i.
		if past := hole < home && home <= i || i < hole && (hole < home || home <= i); past {
			continue
		}
		t.slots[hole], hole = t.slots[i], i
	}
	t.slots[hole] = 0
	if t.len--; 3*t.len < len(t.slots) {
		t.resize()
	}
}

// minSlots is the least number of slots of a table with frames.
const minSlots = 64

// resize makes as many slots as a table of its size has, 60 % of them in use.
func (t *Table) resize() {
	old := t.slots
	n := max(minSlots, t.len*5/3)
	if t.len == 0 && len(old) > 0 {
		t.slots = nil
		return
	}
	if n == len(old) {
		return
	}
	t.slots = make([]ID, n)
	for _, id := range old {
		if id != 0 {
			t.slots[t.find(t.At(id))] = id
		}
	}
}

// bitmap is a set of small numbers.
type bitmap []uint64

func (b *bitmap) set(n int, is bool) {
	for n/64 >= len(*b) {
		if !is {
			return
		}
		*b = append(*b, 0)
	}
	if is {
		(*b)[n/64] |= 1 << (n % 64)
	} else {
		(*b)[n/64] &^= 1 << (n % 64)
	}
}

// first returns the least number, -1 for none.
func (b bitmap) first() int {
	for i, word := range b {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return -1
}
