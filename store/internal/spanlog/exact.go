// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"slices"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// exactShare is the part of a log's bytes that the exact times of all spans take at most.
const exactShare = 8

// Exact is what an execution trace says of where the time of a span went, as the caller
// encoded it. It does not change.
type Exact struct {
	Data []byte
	cost int64
}

// exacts are the records with exact times, those that got them first at first.
type exacts struct {
	rows  []rowID
	of    table[*Exact]
	bytes int64
}

// SetExact gives the record of a span exact times, in place of those that it has. It
// returns false if the span has no record, or one that is not kept, and if there is no room
// for the exact times whatever others make room.
func (l *Log) SetExact(key ident.Key, data []byte) bool {
	l.lockIndexed()
	defer l.mu.Unlock()
	id, ok := l.indexed(key)
	if !ok {
		return false
	}
	if r := l.row(id); r.Earlier != 0 || !r.kept() && !r.Running() {
		return false
	}
	x := &Exact{Data: slices.Clone(data)}
	x.cost = memory.Alloc(int64(unsafe.Sizeof(*x))) + memory.Alloc(int64(len(data))) + memory.Alloc(int64(unsafe.Sizeof(id)))*2
	if x.cost > l.maxBytes/exactShare {
		return false
	}
	l.save(id)
	l.dropExact(id)
	r := l.row(id)
	var grown int64
	r.exact, grown = l.exacts.of.add(x)
	l.bytes += x.cost + grown
	l.lists[r.list].texts += x.cost
	l.exacts.rows = append(l.exacts.rows, id)
	l.exacts.bytes += x.cost
	for l.exacts.bytes > l.maxBytes/exactShare {
		l.evictExact()
	}
	l.trim()
	l.generation.Add(1)
	id, ok = l.indexed(key)
	return ok && l.exacts.of.at(l.row(id).exact) == x
}

// evictExact lets the oldest exact times go, those of spans first that are not kept for
// longer than others; the newest go last.
func (l *Log) evictExact() {
	rows := l.exacts.rows
	i := max(0, slices.IndexFunc(rows[:len(rows)-1], func(id rowID) bool { return l.row(id).places == 0 }))
	l.save(rows[i])
	l.dropExact(rows[i])
}

// dropExact takes the exact times of a record away, if it has any.
func (l *Log) dropExact(id rowID) {
	r := l.row(id)
	if r.exact == 0 {
		return
	}
	cost := l.exacts.of.at(r.exact).cost
	l.bytes += l.exacts.of.remove(r.exact) - cost
	if r.list != freeList {
		l.lists[r.list].texts -= cost
	}
	l.exacts.bytes -= cost
	l.exacts.rows = slices.DeleteFunc(l.exacts.rows, func(other rowID) bool { return other == id })
	r.exact = 0
}
