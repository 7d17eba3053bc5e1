// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// below has the attributes of children that have ended, by the parent that has not. The
// oldest make room for the newest.
type below struct {
	maxBytes, bytes int64
	byKey           map[ident.Key]*belowSpan
	oldest, newest  *belowSpan
	// spare are some that are not used, linked by older.
	spare    *belowSpan
	spareLen int
}

// belowSpan is what came from the children of one span.
type belowSpan struct {
	key ident.Key
	set []byte
	// older and newer are its neighbours in the order in which they came.
	older, newer *belowSpan
}

// maxSpare is how many are kept for the next children.
const maxSpare = 32

func newBelow(maxBytes int64) below {
	return below{maxBytes: maxBytes, byKey: make(map[ident.Key]*belowSpan)}
}

func (x *belowSpan) cost() int64 {
	return memory.Alloc(int64(unsafe.Sizeof(*x))) + memory.ChurnedSlot(8+memory.Pointer) + memory.Alloc(int64(cap(x.set)))
}

func (l *Log) newBelow() *belowSpan {
	b := &l.below
	x := b.spare
	if x == nil {
		return &belowSpan{}
	}
	b.spare = x.older
	b.spareLen--
	l.bytes -= x.cost()
	x.older = nil
	return x
}

// reuse keeps what nothing refers to for the next children; nil is nothing.
func (l *Log) reuse(x *belowSpan) {
	b := &l.below
	if x == nil || b.spareLen == maxSpare {
		return
	}
	*x = belowSpan{set: x.set[:0], older: b.spare}
	b.spare = x
	b.spareLen++
	l.bytes += x.cost()
}

func (l *Log) addBelow(x *belowSpan) {
	b := &l.below
	x.older = b.newest
	if b.newest != nil {
		b.newest.newer = x
	} else {
		b.oldest = x
	}
	b.newest = x
	b.byKey[x.key] = x
	b.bytes += x.cost()
	l.bytes += x.cost()
	for b.bytes > b.maxBytes && b.oldest != b.newest {
		// Its parent never ends, or too many are running.
		l.lostAttributes++
		l.reuse(l.takeBelow(b.oldest.key))
	}
}

// takeBelow returns what came from the children of a span, nil for nothing, and forgets
// it.
func (l *Log) takeBelow(key ident.Key) *belowSpan {
	b := &l.below
	if len(b.byKey) == 0 {
		return nil
	}
	x := b.byKey[key]
	if x == nil {
		return nil
	}
	if x.older != nil {
		x.older.newer = x.newer
	} else {
		b.oldest = x.newer
	}
	if x.newer != nil {
		x.newer.older = x.older
	} else {
		b.newest = x.older
	}
	delete(b.byKey, key)
	b.bytes -= x.cost()
	l.bytes -= x.cost()
	x.older, x.newer = nil, nil
	return x
}

// handUp gives the attributes of a child without a record, and what came from its own
// children, to its parent.
func (l *Log) handUp(e *event) {
	key, parent := e.key, ident.NewKey(e.parent)
	set := l.setOf(e, e.details)
	defer set.free()
	x := l.takeBelow(key)
	switch {
	case set == nil && x == nil:
		return
	case x == nil:
		x = l.newBelow()
		x.set = append(x.set, set.bytes...)
	case set != nil:
		x.set = attributes.AppendBelow(x.set, set.bytes)
	}
	if id, ok := l.endedRecord(parent); ok {
		// The parent ended first.
		l.describeLate(id, x.set)
		l.reuse(x)
		l.trim()
		return
	}
	if of := l.below.byKey[parent]; of != nil {
		before := of.cost()
		of.set = attributes.AppendBelow(of.set, x.set)
		l.bytes += of.cost() - before
		l.below.bytes += of.cost() - before
		l.reuse(x)
	} else {
		x.key = parent
		l.addBelow(x)
	}
	l.trim()
}

// endedRecord returns the record of a span, if it has one and has ended.
func (l *Log) endedRecord(key ident.Key) (rowID, bool) {
	if l.queue.fresh.has(key) {
		return 0, false
	}
	id, ok := l.indexed(key)
	return id, ok && !l.row(id).Running()
}

// describeLate adds attributes of a child to the record of a span that has ended.
func (l *Log) describeLate(id rowID, below []byte) {
	r := l.row(id)
	old := l.attributesOf(r)
	if !l.keeps(r) {
		return
	}
	all := attributes.AppendLate([]byte(old.String()), below)
	if len(all) == len(old.String()) {
		return
	}
	l.save(id)
	l.enlistTexts(r, -1)
	r.attributes = l.retainSet(asString(all)).ref
	r.saved = 0
	l.enlistTexts(r, +1)
	l.releaseText(old)
	l.generation.Add(1)
}
