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
