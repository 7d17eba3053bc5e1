// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"time"
)

// maxEntries bounds what a table holds, to some 30 MB with labels and stacks.
const maxEntries = 1 << 16

// table sums the samples that have stack and labels in common.
type table struct {
	entries map[uint64]*entry
	hash    []byte // for add alone
	rounds  uint64 // that are complete
}

// entry is the samples of one stack with one set of labels.
type entry struct {
	stack  []uintptr
	labels []label
	set    uint64 // the hash of labels
	count  int64
	time   time.Duration

	round uint64 // the last that found it
	found int64  // how many goroutines that round found
}

// weight is the time that a round counts for what it finds.
type weight struct {
	// watched is the time for each goroutine.
	watched time.Duration
	// unwatched is counted too for goroutines that an earlier round found
	// with the same labels, of which before has so many left.
	unwatched time.Duration
	before    sets
}

// sets is how many goroutines a round found with a label set, by the set's hash.
type sets map[uint64]int64

// take returns how many of n goroutines with a label set there are, and removes them.
func (s sets) take(set uint64, n int64) int64 {
	n = min(n, s[set])
	if n > 0 {
		s[set] -= n
	}
	return n
}

// and returns what is in both.
func (s sets) and(other sets) sets {
	both := make(sets)
	for set, n := range s {
		if n = min(n, other[set]); n > 0 {
			both[set] = n
		}
	}
	return both
}

var seed = maphash.MakeSeed()

func newTable() *table {
	return &table{entries: make(map[uint64]*entry)}
}

// add counts goroutines that the round after the complete ones has found somewhere.
// It reports false, and counts nothing, when the table is full.
func (t *table) add(stack []uintptr, labels []label, count int64, w weight) bool {
	b := t.hash[:0]
	for _, l := range labels {
		b = append(b, l.Key...)
		b = append(b, 0)
		b = append(b, l.Value...)
		b = append(b, 0)
	}
	set := maphash.Bytes(seed, b)
	b = binary.LittleEndian.AppendUint64(b[:0], set)
	for _, pc := range stack {
		b = binary.LittleEndian.AppendUint64(b, uint64(pc))
	}
	t.hash = b
	// Where two entries have the same hash, one of them is next to it.
	for h := maphash.Bytes(seed, b); ; h++ {
		e := t.entries[h]
		if e == nil {
			if len(t.entries) == maxEntries {
				return false
			}
			e = &entry{stack: stack, labels: labels, set: set}
			t.entries[h] = e
		} else if !slices.Equal(e.stack, stack) || !slices.Equal(e.labels, labels) {
			continue
		}
		e.count += count
		e.time += w.watched * time.Duration(count)
		if w.unwatched > 0 {
			e.time += w.unwatched * time.Duration(w.before.take(set, count))
		}
		if this := t.rounds + 1; e.round != this {
			e.round, e.found = this, 0
		}
		e.found += count
		return true
	}
}

// extend counts d more for what the last complete round found.
func (t *table) extend(d time.Duration) {
	if t.rounds == 0 {
		return
	}
	for _, e := range t.entries {
		if e.round == t.rounds {
			e.time += d * time.Duration(e.found)
		}
	}
}

// lastFound returns what the last complete round found.
func (t *table) lastFound() sets {
	s := make(sets)
	if t.rounds == 0 {
		return s
	}
	for _, e := range t.entries {
		if e.round == t.rounds {
			s[e.set] += e.found
		}
	}
	return s
}
