// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package frames keeps call stacks in few bytes. Stacks that begin alike share their
// frames: one that differs from another in its leaf takes one frame, not as many as it is
// deep. A frame is two numbers of 32 bits, and its place in the table is its id.
package frames

import (
	"hash/maphash"
	"math"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/intern"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// ID is a frame of a Table. 0 is none: the parent of a root, and the leaf of an empty
// stack.
type ID uint32

// chunkLen is how many frames are allocated at once. A chunk is freed when its last frame
// is gone, so that a few frames that stay must not hold many that went.
const chunkLen = 128

// Table keeps one copy of equal frames, counts the references to each, and uses the place
// of a frame that is gone again. It is not safe for concurrent use; a Reader of it is.
type Table struct {
	// chunks is what readers share: shared says that there may be one who has it.
	chunks []*chunk
	shared bool
	// counts are as long as chunks.
	counts []*counts
	// room has a bit for each chunk that has a place left.
	room bitmap
	// epoch changes with each Reader: what an earlier one may read is not written to.
	epoch uint64

	seed maphash.Seed
	// slots are the ids by their hash, with open addressing.
	slots []ID
	len   int
	// kept is how many frames keepers alone refer to, live the number of chunks.
	kept, live int
	// large are the numbers of references that do not fit into a chunk's.
	large map[countOf]int32
}

// chunk is the frames of chunkLen ids.
type chunk struct{ parents, locations [chunkLen]uint32 }

// counts are those of a chunk; nobody but the table reads them.
type counts struct {
	// refs counts the references except those of keepers, which kept counts. refs
	// of a place that is free is the next free one, from 1 on.
	refs, kept [chunkLen]uint16
	epoch      uint64
	// free is the first free place, from 1 on. Those from fresh on were never used.
	free, fresh, used uint16
}

// countOf is one of the two numbers of references to a frame.
type countOf struct {
	id   ID
	kept bool
}

// New returns an empty table.
func New() *Table { return &Table{seed: maphash.MakeSeed()} }

// Reader reads the frames that were in a table when it was made, for as long as it likes,
// beside the table's use.
type Reader struct{ chunks []*chunk }

// Reader returns a reader of what the table has now.
func (t *Table) Reader() Reader {
	t.epoch++
	t.shared = true
	return Reader{t.chunks}
}

// At returns the parent and the location of a frame.
func (r Reader) At(id ID) (parent ID, location uint32) {
	c, i := r.chunks[(id-1)/chunkLen], (id-1)%chunkLen
	return ID(c.parents[i]), c.locations[i]
}

// At returns the parent and the location of a frame.
func (t *Table) At(id ID) (parent ID, location uint32) { return Reader{t.chunks}.At(id) }

// Intern returns the id of a frame. One that is new has no references: the caller retains
// it, and what it refers to.
func (t *Table) Intern(parent ID, location uint32) (id ID, isNew bool) {
	if len(t.slots) > 0 {
		if id = t.slots[t.find(parent, location)]; id != 0 {
			return id, false
		}
	}
	// A quarter stays free, so that a search is short.
	if 4*(t.len+1) > 3*len(t.slots) {
		t.resize()
	}
	id = t.place()
	c, i := t.chunks[(id-1)/chunkLen], (id-1)%chunkLen
	c.parents[i], c.locations[i] = uint32(parent), location
	t.slots[t.find(parent, location)] = id
	t.len++
	return id, true
}

// Change adds to the references to a frame, and to those of keepers. It says what became
// of the frame, as a Table of package intern does: what a frame refers to has to follow it.
func (t *Table) Change(id ID, refs, kept int32) intern.Change {
	wasRefs, wasKept := t.count(id, false), t.count(id, true)
	isRefs, isKept := wasRefs+refs, wasKept+kept
	was, only := wasRefs == 0 && wasKept > 0, isRefs == 0 && isKept > 0
	if was {
		t.kept--
	}
	if isRefs == 0 && isKept == 0 {
		t.remove(id)
		if was {
			return intern.GoneKept
		}
		return intern.Gone
	}
	t.setCount(id, false, wasRefs, isRefs)
	t.setCount(id, true, wasKept, isKept)
	if only {
		t.kept++
	}
	switch {
	case was == only:
		return intern.Same
	case only:
		return intern.OnlyKept
	default:
		return intern.Live
	}
}

func (t *Table) count(id ID, kept bool) int32 {
	c, i := t.counts[(id-1)/chunkLen], (id-1)%chunkLen
	n := c.refs[i]
	if kept {
		n = c.kept[i]
	}
	if n == math.MaxUint16 {
		return t.large[countOf{id, kept}]
	}
	return int32(n)
}

func (t *Table) setCount(id ID, kept bool, was, is int32) {
	if is == was {
		return
	}
	c, i := t.counts[(id-1)/chunkLen], (id-1)%chunkLen
	narrow := uint16(min(is, math.MaxUint16))
	if kept {
		c.kept[i] = narrow
	} else {
		c.refs[i] = narrow
	}
	switch {
	case is >= math.MaxUint16:
		if t.large == nil {
			t.large = make(map[countOf]int32)
		}
		t.large[countOf{id, kept}] = is
	case was >= math.MaxUint16:
		delete(t.large, countOf{id, kept})
	}
}

// Len returns the number of frames.
func (t *Table) Len() int { return t.len }

// Bytes returns the memory of the table.
func (t *Table) Bytes() int64 {
	return int64(t.live)*chunkBytes + memory.Slice(t.chunks) + memory.Slice(t.counts) + memory.Slice(t.room) + memory.Slice(t.slots) +
		memory.ChurnedMap(len(t.large), int64(unsafe.Sizeof(countOf{}))+4)
}

const (
	chunkBytes = int64(unsafe.Sizeof(chunk{})) + int64(unsafe.Sizeof(counts{}))
	// frameBytes is the share of a frame in its chunk and in the table.
	frameBytes = chunkBytes/chunkLen + 6
)

// KeptBytes returns the memory of the frames that keepers alone refer to.
func (t *Table) KeptBytes() int64 { return int64(t.kept) * frameBytes }
