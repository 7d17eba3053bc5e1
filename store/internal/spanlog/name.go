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
	// ref is the place by which rows refer to the name.
	ref ref
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
		var grown int64
		n.ref, grown = l.nameRefs.add(n)
		n.bytes = n.cost()
		l.bytes += n.bytes + grown
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
	l.bytes += l.nameRefs.remove(n.ref)
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
// takes twice as many slots (go test -tags live -run TestTextsAreHonest).
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
