// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"strings"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// table numbers the different values of a segment from 0 on. It is append-only. A reader
// that copied list sees values that never change.
type table[V comparable] struct {
	list []V
	// index is nil once the segment is sealed.
	index map[V]uint32
}

// add returns the number of a value.
func (t *table[V]) add(v V) uint32 {
	n, ok := t.index[v]
	if !ok {
		n = uint32(len(t.list))
		if t.index == nil {
			t.index = make(map[V]uint32)
		}
		t.index[v] = n
		t.list = append(t.list, v)
	}
	return n
}

// seal drops what only new values need.
func (t *table[V]) seal() {
	t.index = nil
	t.list = append(make([]V, 0, len(t.list)), t.list...)
}

// bytes returns the memory of the list and the index.
func (t *table[V]) bytes() int64 {
	if len(t.list) == 0 {
		return 0
	}
	return memory.Slice(t.list) + memory.Map(len(t.index), memory.Slice(t.list[:1:1])+4)
}

// texts numbers texts. The number 0 is the empty text.
type texts struct {
	table[string]
	// content is the memory of the texts themselves.
	content int64
}

func newTexts() texts {
	var t texts
	t.add("")
	return t
}

// add returns the number of a text. It keeps a copy, because s may be part of a whole file.
func (t *texts) add(s string) uint32 {
	if n, ok := t.index[s]; ok {
		return n
	}
	t.content += memory.Alloc(int64(len(s)))
	return t.table.add(strings.Clone(s))
}

func (t *texts) bytes() int64 { return t.content + t.table.bytes() }
