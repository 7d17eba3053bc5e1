// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import "github.com/spanprof/spanprof/store/internal/ident"

// fresh are the local roots of a batch of events that started and have no record yet:
// most end in the same batch, and need no place among those that run.
type fresh struct {
	starts []freshStart
	// slots are a hash table of the starts, with open addressing: their numbers from
	// 1 on.
	slots []uint32
	// left is how many have no record.
	left int
}

type freshStart struct {
	key   ident.Key
	event *event
}

// reset makes room for n starts.
func (f *fresh) reset(n int) {
	slots := 16
	for slots < 2*n {
		slots *= 2
	}
	if slots > cap(f.slots) {
		f.slots = make([]uint32, slots)
	}
	f.slots = f.slots[:slots]
	clear(f.slots)
	clear(f.starts)
	f.starts, f.left = f.starts[:0], 0
}

func (f *fresh) add(e *event) {
	f.starts = append(f.starts, freshStart{e.key, e})
	f.left++
	mask := uint32(len(f.slots) - 1)
	i := hashOf(e.key) & mask
	for f.slots[i] != 0 {
		i = (i + 1) & mask
	}
	f.slots[i] = uint32(len(f.starts))
}

// take returns the start of a span, and forgets it; nil if there is none.
func (f *fresh) take(key ident.Key) *event {
	if f.left == 0 {
		return nil
	}
	mask := uint32(len(f.slots) - 1)
	for i := hashOf(key) & mask; f.slots[i] != 0; i = (i + 1) & mask {
		s := &f.starts[f.slots[i]-1]
		if s.key == key && s.event != nil {
			e := s.event
			s.event = nil
			f.left--
			return e
		}
	}
	return nil
}

// has reports whether a span is one of those that started and have no record.
func (f *fresh) has(key ident.Key) bool {
	if f.left == 0 {
		return false
	}
	mask := uint32(len(f.slots) - 1)
	for i := hashOf(key) & mask; f.slots[i] != 0; i = (i + 1) & mask {
		if s := &f.starts[f.slots[i]-1]; s.key == key && s.event != nil {
			return true
		}
	}
	return false
}
