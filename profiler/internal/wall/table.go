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
	rounds  uint64
}

// entry is the samples of one stack with one set of labels.
type entry struct {
	stack  []uintptr
	labels []label
	count  int64
	time   time.Duration
}

var seed = maphash.MakeSeed()

func newTable() *table {
	return &table{entries: make(map[uint64]*entry)}
}

// add counts goroutines that have been somewhere for a time each. It reports
// false, and counts nothing, when the table is full.
func (t *table) add(stack []uintptr, labels []label, count int64, since time.Duration) bool {
	b := t.hash[:0]
	for _, pc := range stack {
		b = binary.LittleEndian.AppendUint64(b, uint64(pc))
	}
	for _, l := range labels {
		b = append(b, l.Key...)
		b = append(b, 0)
		b = append(b, l.Value...)
		b = append(b, 0)
	}
	t.hash = b
	// Where two entries have the same hash, one of them is next to it.
	for h := maphash.Bytes(seed, b); ; h++ {
		e := t.entries[h]
		if e == nil {
			if len(t.entries) == maxEntries {
				return false
			}
			e = &entry{stack: stack, labels: labels}
			t.entries[h] = e
		} else if !slices.Equal(e.stack, stack) || !slices.Equal(e.labels, labels) {
			continue
		}
		e.count += count
		e.time += since * time.Duration(count)
		return true
	}
}
