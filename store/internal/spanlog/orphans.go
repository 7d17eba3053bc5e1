// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"strings"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// orphans are the samples of spans without a record: those of a child that has
// not ended, which find it when it does, and those of spans that the store never
// hears of. The oldest make room for the newest.
type orphans struct {
	maxBytes, bytes int64
	byKey           map[ident.Key]*orphan
	oldest, newest  *orphan
}

// orphan is what is known of such a span.
type orphan struct {
	Samples
	key ident.Key
	// shared is the part of CPU that came beside the id of another span, and goes up
	// from that span.
	shared time.Duration
	// label is the span_name label of its newest samples that have one.
	label string
	// older and newer are its neighbours in the order in which they came.
	older, newer *orphan
}

func newOrphans(maxBytes int64) orphans {
	return orphans{maxBytes: maxBytes, byKey: make(map[ident.Key]*orphan)}
}

func (o *orphan) cost() int64 {
	return memory.Alloc(int64(unsafe.Sizeof(*o))) + memory.ChurnedSlot(8+memory.Pointer) + memory.Alloc(int64(len(o.label)))
}

// of returns what is remembered of a span, which may be new.
func (o *orphans) of(key ident.Key) *orphan {
	if x := o.byKey[key]; x != nil {
		return x
	}
	x := &orphan{key: key, older: o.newest}
	if o.newest != nil {
		o.newest.newer = x
	} else {
		o.oldest = x
	}
	o.newest = x
	o.byKey[key] = x
	o.bytes += x.cost()
	o.trim()
	return x
}

func (o *orphans) remove(x *orphan) {
	if x.older != nil {
		x.older.newer = x.newer
	} else {
		o.oldest = x.newer
	}
	if x.newer != nil {
		x.newer.older = x.older
	} else {
		o.newest = x.older
	}
	delete(o.byKey, x.key)
	o.bytes -= x.cost()
}

func (o *orphans) setLabel(x *orphan, label string) {
	if label == "" || label == x.label {
		return
	}
	o.bytes -= x.cost()
	// A copy, as the window that has it may go first.
	x.label = strings.Clone(label)
	o.bytes += x.cost()
	o.trim()
}

// trim makes room, but for the newest one.
func (o *orphans) trim() {
	for o.bytes > o.maxBytes && o.oldest != o.newest {
		o.remove(o.oldest)
	}
}
