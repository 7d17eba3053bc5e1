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

	now  []found // what the round that is not complete has found
	last []found // what the last complete one has
}

// entry is the samples of one stack with one set of labels.
type entry struct {
	stack  []uintptr
	labels []label
	set    uint64 // the hash of labels
	count  int64
	time   time.Duration
}

// found is what a round has found in one place.
type found struct {
	entry  *entry
	labels []label // equal to those of entry, but the goroutines' own
	count  int64   // of goroutines
}

// sets is how many goroutines a round found with a label set, by the set's hash.
type sets map[uint64]int64

func setsOf(all []found) sets {
	s := make(sets)
	for _, f := range all {
		s[f.entry.set] += f.count
	}
	return s
}

// take returns how many of n goroutines with a label set there are, and removes them.
func (s sets) take(set uint64, n int64) int64 {
	n = min(n, s[set])
	if n > 0 {
		s[set] -= n
	}
	return n
}

var seed = maphash.MakeSeed()

func newTable() *table {
	return &table{entries: make(map[uint64]*entry)}
}

// add counts goroutines that the round after the complete ones has found somewhere, as
// yet without any time. It reports false, and counts nothing, when the table is full.
func (t *table) add(stack []uintptr, labels []label, count int64) bool {
	e := t.entry(stack, labels)
	if e == nil {
		return false
	}
	e.count += count
	t.now = append(t.now, found{e, labels, count})
	return true
}

// entry returns that of a stack and labels, nil when the table is full.
func (t *table) entry(stack []uintptr, labels []label) *entry {
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
				return nil
			}
			e = &entry{stack: stack, labels: labels, set: set}
			t.entries[h] = e
		} else if !slices.Equal(e.stack, stack) || !slices.Equal(e.labels, labels) {
			continue
		}
		return e
	}
}

// complete ends a round.
func (t *table) complete() {
	t.rounds++
	clear(t.last)
	t.now, t.last = t.last[:0], t.now
}

// share counts the time since the last complete round: half of it for what that has
// found, half for what the round that is not complete has. So a span that begins or ends
// between the two, at any time, has on average what it took. The first round has all of
// the time.
func (t *table) share(d time.Duration) {
	if t.rounds > 0 {
		extend(t.last, d/2)
		d -= d / 2
	}
	extend(t.now, d)
}

// extend counts d more for what a round has found.
func extend(all []found, d time.Duration) {
	for _, f := range all {
		f.entry.time += d * time.Duration(f.count)
	}
}
