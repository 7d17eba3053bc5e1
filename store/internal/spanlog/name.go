// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"hash/maphash"
	"slices"
	"strings"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// Name is the name of spans of one service.
type Name struct {
	NameKey
	// next is another name with the same hash.
	next        *Name
	serviceText *Text
	// holders are the records with the name, and its place in the list of names
	// that have something to count.
	holders
	// counts is what was not yet taken; counted says that this is something.
	counts  Count
	counted bool
	// keeper may be shared; nil if nothing is kept for longer. seen counts spans
	// while it is shared.
	keeper *keeper
	seen   uint32
}

func (n *Name) cost() int64 {
	return memory.Alloc(int64(unsafe.Sizeof(*n))) + memory.Alloc(int64(len(n.Value))) + memory.ChurnedSlot(8+memory.Pointer)
}

// retainName returns the name with a reference.
func (l *Log) retainName(service, value string) *Name {
	lately := l.lately.of(value)
	if n := *lately; n != nil && n.Value == value && n.Service == service {
		l.retain(&n.holders)
		return n
	}
	key := NameKey{service, value}
	hash := key.hash(l.seed)
	n := l.names.get(hash, key)
	if n == nil {
		text := l.retainText(service)
		n = &Name{NameKey: NameKey{text.String(), strings.Clone(value)}, serviceText: text}
		n.keeper = l.newKeeper(n)
		l.names.add(hash, n)
		n.bytes = n.cost()
		l.bytes += n.bytes
	}
	*lately = n
	l.retain(&n.holders)
	return n
}

// lately are names by a few of their bytes: to find one here takes a fifth of what a hash
// takes.
type lately [64]*Name

func (l *lately) of(value string) **Name {
	i := len(value)
	if i > 0 {
		i += 5*int(value[i-1]) + 11*int(value[i/2]) + 17*int(value[i/4])
	}
	return &l[i%len(l)]
}

func (l *Log) releaseName(n *Name) {
	l.release(&n.holders)
	if n.refs > 0 {
		return
	}
	if lately := l.lately.of(n.Value); *lately == n {
		*lately = nil
	}
	l.names.remove(n.hash(l.seed), n)
	l.bytes -= n.bytes
	l.releaseText(n.serviceText)
	if n.keeper != nil && n.keeper != &l.others {
		l.dropKeeper(n)
	}
}

// newKeeper returns the keeper for a new name.
func (l *Log) newKeeper(n *Name) *keeper {
	switch {
	case l.perName == 0:
		return nil
	case l.keepers >= l.maxKeepers:
		return &l.others
	}
	return l.ownKeeper(n, l.joinedUntil)
}

// ownKeeper returns a new keeper for a name alone.
func (l *Log) ownKeeper(n *Name, now int64) *keeper {
	l.keepers++
	l.bytes += l.keeperCost()
	l.owners = append(l.owners, n)
	return &keeper{seen: n.seen, last: now}
}

// dropKeeper takes the keeper of its own from a name.
func (l *Log) dropKeeper(n *Name) {
	l.keepers--
	l.bytes -= l.keeperCost()
	i := slices.Index(l.owners, n)
	last := len(l.owners) - 1
	l.owners[i] = l.owners[last]
	l.owners[last] = nil
	l.owners = l.owners[:last]
}

// keeperCost is the memory of a keeper that is full.
func (l *Log) keeperCost() int64 {
	size := memory.Alloc(int64(unsafe.Sizeof(keeper{}))) + memory.Pointer
	for of := range extremesLen {
		size += memory.Alloc(int64(l.perPlace(of)) * int64(unsafe.Sizeof(rowID(0))) * 5 / 4)
	}
	return size
}

// rowsPerKeeper is how many records a keeper has at most.
func (l *Log) rowsPerKeeper() int {
	n := latencies
	for of := range extremesLen {
		n += l.perPlace(of)
	}
	return n
}

// nameMap finds names by their hashes. Where names come and go, a map of NameKey
// takes twice as many slots (go test -run TestTextsAreHonest).
type nameMap map[uint64]*Name

func (k NameKey) hash(seed maphash.Seed) uint64 {
	return maphash.String(seed, k.Value) + 3*maphash.String(seed, k.Service)
}

// get returns nil if there is no such name.
func (m nameMap) get(hash uint64, key NameKey) *Name {
	for n := m[hash]; n != nil; n = n.next {
		if n.NameKey == key {
			return n
		}
	}
	return nil
}

func (m nameMap) add(hash uint64, n *Name) {
	n.next = m[hash]
	m[hash] = n
}

func (m nameMap) remove(hash uint64, n *Name) {
	before := m[hash]
	if before != n {
		for before.next != n {
			before = before.next
		}
		before.next = n.next
		return
	}
	if n.next != nil {
		m[hash] = n.next
		return
	}
	delete(m, hash)
}

// Text is a text that records and names share: a service, or a label of
// samples, which outlives the windows that it came in.
type Text struct {
	value string
	// alone says that it has one holder, and is not to be found for others.
	alone bool
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
		t.bytes = t.cost()
		l.bytes += t.bytes
	}
	l.retain(&t.holders)
	return t
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
	}
}

// label gives a record the label of its newest samples that have one.
func (l *Log) setLabel(r *Record, label string) {
	if label == "" || r.Label.String() == label {
		return
	}
	old := r.Label
	l.enlistTexts(r, -1)
	r.Label = l.retainText(label)
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
func (l *Log) enlistTexts(r *Record, records int32) {
	if r.list == freeList {
		return
	}
	l.lists[r.list].texts += int64(records) * memory.Alloc(int64(len(r.Status)))
	l.enlist(&r.Name.holders, r.list, records)
	if r.Label != nil {
		l.enlist(&r.Label.holders, r.list, records)
	}
	if r.Attributes != nil {
		l.enlist(&r.Attributes.holders, r.list, records)
	}
}
