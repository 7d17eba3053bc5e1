// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"hash/maphash"
	"iter"
	"strings"
	"sync"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// attributeSet is room for the attributes of a span that ends; nil for none.
type attributeSet struct{ bytes []byte }

var attributeSets = sync.Pool{New: func() any {
	return &attributeSet{make([]byte, 0, attributes.MaxOwn+attributes.MaxBelow)}
}}

func (s *attributeSet) free() {
	if s != nil {
		attributeSets.Put(s)
	}
}

// collect returns what is kept of a span's attributes, nil for nothing. It needs no lock.
func (l *Log) collect(s *attributes.Source, child bool) *attributeSet {
	if l.keys == nil || !l.keys.Any(s, child) {
		return nil
	}
	set := attributeSets.Get().(*attributeSet)
	if set.bytes = l.keys.Append(set.bytes[:0], s, child); len(set.bytes) == 0 {
		set.free()
		return nil
	}
	return set
}

// setOf returns what is kept of the attributes of an event's span, nil for nothing.
func (l *Log) setOf(e *event, d *details) *attributeSet {
	if d.set != nil {
		set := attributeSets.Get().(*attributeSet)
		set.bytes = append(set.bytes[:0], d.set...)
		return set
	}
	if !e.hasAttributes {
		return nil
	}
	return l.collect(&attributes.Source{Name: e.name, Status: d.status, Attributes: d.attributes, Exception: d.exception}, e.kind == passedBy)
}

// describe gives the record of a span that ends its attributes, and those of its children.
// The record is in no list.
func (l *Log) describe(r *Row, e *event, d *details) {
	if !e.hasAttributes && len(l.below.byKey) == 0 {
		return
	}
	x := l.takeBelow(e.key)
	defer l.reuse(x)
	if !l.keeps(r) {
		return
	}
	set := l.setOf(e, d)
	defer set.free()
	var all []byte
	switch {
	case set != nil && x != nil:
		set.bytes = append(set.bytes, x.set...)
		all = set.bytes
	case set != nil:
		all = set.bytes
	case x != nil:
		all = x.set
	}
	if len(all) > 0 {
		r.attributes = l.retainSet(asString(all)).ref
	}
}

// seenSets has the hashes of the sets seen last, two in a place, the one seen last first.
// With one in a place, two sets of a busy program that share it would displace each other
// for ever, and each of their spans would have a copy of its own.
type seenSets [512][2]uint32

// seen says whether a set is one of them, and makes it one.
func (s *seenSets) seen(hash uint64) bool {
	place, h := &s[hash%uint64(len(s))], uint32(hash>>32)
	switch h {
	case place[0]:
		return true
	case place[1]:
		place[0], place[1] = h, place[0]
		return true
	}
	place[0], place[1] = h, place[0]
	return false
}

// retainSet returns a copy of a set, with a reference: the one copy if it is not the first
// of its kind. Most programs have few different sets, or one for each request: those would
// take half as much again for a place where nothing finds them.
func (l *Log) retainSet(set string) *Text {
	if l.seenSets.seen(maphash.String(l.seed, set)) {
		return l.retainText(set)
	}
	t := &Text{value: strings.Clone(set), alone: true}
	l.enter(t)
	l.retain(&t.holders)
	return t
}

// asString returns the text of bytes that do not change while it is used.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

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

// ownAttribute returns the first value of a key that a record's span has itself, "" for
// none.
func (l *Log) ownAttribute(r *Row, key string) string {
	if r.attributes == 0 {
		return ""
	}
	for e := range l.keys.All(l.attributesOf(r).String()) {
		if e.Key == key && !e.OfChild {
			return e.Value
		}
	}
	return ""
}

// KeptAttributes returns the keys of the attributes that are kept, nil for none.
func (v *View) KeptAttributes() []string {
	if v.log.keys == nil {
		return nil
	}
	return v.log.keys.Names()
}

// Attributes returns the entries of a record's attributes.
func (v *View) Attributes(r *Record) iter.Seq[attributes.Entry] {
	return func(yield func(attributes.Entry) bool) {
		if r.Attributes == nil {
			return
		}
		for e := range v.log.keys.All(r.Attributes.String()) {
			if !yield(e) {
				return
			}
		}
	}
}
