// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"testing"
)

// colliding values all have the same hash.
type colliding int

func (c *colliding) hash(maphash.Seed) uint64    { return 1 }
func (c *colliding) equal(other *colliding) bool { return *c == *other }
func (c *colliding) size() int64                 { return 8 }

func TestTableCollisions(t *testing.T) {
	// Every place in the list: last, in the middle, first.
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}} {
		table := newTable[colliding](maphash.MakeSeed())
		var values []*colliding
		for i := range 3 {
			v := colliding(i)
			own, fresh := table.intern(&v)
			again, second := table.intern(&v)
			if !fresh || second || own != again {
				t.Fatal("not interned:", i)
			}
			table.retain(own)
			table.retain(own)
			values = append(values, own)
		}
		for _, i := range order {
			if table.release(values[i]) {
				t.Error("gone with a reference left:", i)
			}
			if !table.release(values[i]) {
				t.Error("not gone without a reference:", i)
			}
			if table.release(values[i]) {
				t.Error("gone twice:", i)
			}
		}
		if len(table.nodes.elements) != 0 || table.bytes() != 0 {
			t.Error("left:", len(table.nodes.elements), table.bytes())
		}
	}
}
