// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"strings"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// Text is a text that records and names share: a service, or a label of
// samples, which outlives the windows that it came in.
type Text struct {
	value string
	// alone says that it has one holder, and is not to be found for others.
	alone bool
	// ref is the place by which rows refer to the text.
	ref ref
	holders
}

func (t *Text) cost() int64 {
	cost := memory.Alloc(int64(unsafe.Sizeof(*t))) + memory.Alloc(int64(len(t.value)))
	if !t.alone {
		cost += memory.ChurnedSlot(memory.String + memory.Pointer)
	}
	return cost
}

// String returns "" for nil, which stands for the empty text.
func (t *Text) String() string {
	if t == nil {
		return ""
	}
	return t.value
}

// retainText returns the one copy of s, with a reference.
func (l *Log) retainText(s string) *Text {
	if s == "" {
		return nil
	}
	t := l.texts[s]
	if t == nil {
		t = &Text{value: strings.Clone(s)}
		l.texts[t.value] = t
		l.enter(t)
	}
	l.retain(&t.holders)
	return t
}

// enter counts a new text, and gives it its place.
func (l *Log) enter(t *Text) {
	var grown int64
	t.ref, grown = l.textRefs.add(t)
	t.bytes = t.cost()
	l.bytes += t.bytes + grown
}

func (l *Log) releaseText(t *Text) {
	if t == nil {
		return
	}
	l.release(&t.holders)
	if t.refs == 0 {
		if !t.alone {
			delete(l.texts, t.value)
		}
		l.bytes -= t.bytes
		l.bytes += l.textRefs.remove(t.ref)
	}
}

// setLabel gives a record the label of its newest samples that have one.
func (l *Log) setLabel(r *Row, label string) {
	old := l.labelOf(r)
	if label == "" || old.String() == label {
		return
	}
	l.enlistTexts(r, -1)
	r.label = l.retainText(label).ref
	l.enlistTexts(r, +1)
	l.releaseText(old)
}

// holders are what refers to a text that spans share.
type holders struct {
	refs int
	// bytes is the memory of the text.
	bytes int64
	// records are those of the refs that are records in a list, by list.
	records [listCount]int32
}

// list returns the one list that all holders are in, freeList if there is none.
func (h *holders) list() listID {
	for list := freeList + 1; list < listCount; list++ {
		if int(h.records[list]) == h.refs {
			return list
		}
	}
	return freeList
}

// retain adds a holder that is in no list.
func (l *Log) retain(h *holders) {
	if h.refs > 0 {
		l.lists[h.list()].texts -= h.bytes
	}
	h.refs++
	l.lists[freeList].texts += h.bytes
}

// release takes away a holder that is in no list.
func (l *Log) release(h *holders) {
	l.lists[freeList].texts -= h.bytes
	h.refs--
	if h.refs > 0 {
		l.lists[h.list()].texts += h.bytes
	}
}

// enlist says that some holders come to a list, or by a number below 0 that they
// leave it.
func (l *Log) enlist(h *holders, list listID, records int32) {
	if int(h.records[list]) == h.refs {
		l.lists[list].texts -= h.bytes
		l.lists[freeList].texts += h.bytes
	}
	h.records[list] += records
	if int(h.records[list]) == h.refs {
		l.lists[freeList].texts -= h.bytes
		l.lists[list].texts += h.bytes
	}
}

// enlistTexts says that a record comes to its list, or by -1 that it leaves it.
func (l *Log) enlistTexts(r *Row, records int32) {
	if r.list == freeList {
		return
	}
	l.enlist(&l.nameOf(r).holders, r.list, records)
	if r.status != 0 {
		l.lists[r.list].texts += int64(records) * statusCost(l.statuses.at(r.status))
	}
	if r.label != 0 {
		l.enlist(&l.labelOf(r).holders, r.list, records)
	}
	if r.attributes != 0 {
		l.enlist(&l.attributesOf(r).holders, r.list, records)
	}
	if r.exact != 0 {
		l.lists[r.list].texts += int64(records) * l.exacts.of.at(r.exact).cost
	}
}
