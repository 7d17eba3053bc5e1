// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// Counts are the counts of a window of an earlier process. They are as many as the log
// counts between two windows: further names count as the rest of their service, and those of
// further services as one.
type Counts struct {
	places map[NameKey]int
	list   []Count
	// Bytes is the memory of all this.
	Bytes int64
}

// Add adds a count. Names that are new take at most room bytes, but for the rest of all
// services. It returns false where the count is in a rest now.
func (c *Counts) Add(n Count, room int64) (whole bool) {
	if c.places == nil {
		c.places = make(map[NameKey]int)
	}
	rests := [...]NameKey{n.NameKey, {n.Service, otherName}, {"", otherName}}
	for i, key := range rests {
		place, ok := c.places[key]
		if !ok {
			names := maxNames
			if i > 0 {
				names += maxRests
			}
			cost := countCost(key, n.Label)
			if i < len(rests)-1 && (len(c.list) >= names || cost > room) {
				continue
			}
			place = len(c.list)
			c.list = append(c.list, Count{Texts: Texts{NameKey: key}})
			c.places[key] = place
			c.Bytes += cost
		}
		c.list[place].Add(n)
		return i == 0
	}
	return false // the last key always has room
}

// List returns the counts.
func (c *Counts) List() []Count { return c.list }

func countCost(key NameKey, label string) int64 {
	return int64(unsafe.Sizeof(Count{})) + memory.Alloc(int64(len(key.Service))) + memory.Alloc(int64(len(key.Value))) + memory.Alloc(int64(len(label))) +
		memory.ChurnedSlot(2*memory.String+memory.Pointer)
}
