// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// lookup finds records by the id of their spans. Spans that run have an index of their
// own, which their ends look into. Those that ended come into theirs when somebody looks
// for one of them: where many end, most have made room by then, and the way in and out of
// an index of all records is more than half of what a record costs.
type lookup struct {
	running, ended index
	// late are the records that are not in an index, at their numbers modulo its length:
	// in the order in which their spans ended, as one may have the id of another.
	late []rowID
	// first is the lowest number of late, next what the next record gets. Numbers begin
	// at 1.
	first, next uint32
}

// lateStep is how many records come into the index while the log is locked.
const lateStep = 256

// lateFor returns how many places there are for late records of n in all.
func lateFor(n int) int { return 1 << bits.Len(uint(max(0, n-1))) }

// lookupSize is the memory of what finds n records, of which so many run at most.
func lookupSize(n, running int) int64 {
	return indexSize(n) + indexSize(min(n, running)) + memory.Alloc(int64(lateFor(n))*int64(unsafe.Sizeof(rowID(0))))
}

// grow makes room for n records, of which so many run at most.
func (l *Log) growLookup(n, running int) {
	k := &l.lookup
	if k.ended.grow(n); lateFor(n) > len(k.late) {
		l.indexAll()
		k.late, k.first, k.next = make([]rowID, lateFor(n)), 1, 1
	}
	k.running.grow(min(n, running))
}

// indexLater makes a record that of a span that ended.
func (l *Log) indexLater(key ident.Key, id rowID) {
	k := &l.lookup
	if other, ok := l.indexedRunning(key); ok {
		// The program has used an id twice: the newest record is that of the span.
		k.running.remove(key, other)
	}
	if k.next == math.MaxUint32 {
		l.indexAll()
		k.first, k.next = 1, 1
	}
	if int(k.next-k.first) == len(k.late) {
		l.indexNext()
	}
	k.late[int(k.next)&(len(k.late)-1)] = id
	l.row(id).late = k.next
	k.next++
}

// indexNext takes the oldest of the late records into the index, unless it has gone.
func (l *Log) indexNext() {
	k := &l.lookup
	id := k.late[int(k.first)&(len(k.late)-1)]
	if r := l.row(id); r.late == k.first {
		r.late = 0
		l.setIndex(&k.ended, ident.NewKey(r.SpanID), id)
	}
	k.first++
}

// indexAll takes all late records into the index.
func (l *Log) indexAll() {
	for l.lookup.first != l.lookup.next {
		l.indexNext()
	}
}

// lockIndexed is lock for those who look for spans by their ids: it lets others have the
// log while it takes late records into the index.
func (l *Log) lockIndexed() {
	l.lock()
	l.indexInSteps()
}

// indexInSteps takes the late records of now into the index, and unlocks the log from time
// to time. The caller holds the lock.
func (l *Log) indexInSteps() {
	k := &l.lookup
	for n := k.next - k.first; n > lateStep; n -= lateStep {
		for i := 0; i < lateStep && k.first != k.next; i++ {
			l.indexNext()
		}
		l.mu.Unlock()
		l.mu.Lock()
	}
}

// indexed returns the record of a span.
func (l *Log) indexed(key ident.Key) (rowID, bool) {
	if id, ok := l.indexedRunning(key); ok {
		return id, true
	}
	l.indexAll()
	if s := l.slotOf(&l.lookup.ended, key); s != nil {
		return s.row, true
	}
	return 0, false
}

// indexedRunning returns the record of a span that has not ended.
func (l *Log) indexedRunning(key ident.Key) (rowID, bool) {
	if l.lists[runningList].len == 0 {
		return 0, false
	}
	if s := l.slotOf(&l.lookup.running, key); s != nil {
		return s.row, true
	}
	return 0, false
}

// unindex removes a record whose span does not run any more, or which goes.
func (l *Log) unindex(id rowID) {
	r := l.row(id)
	switch key := ident.NewKey(r.SpanID); {
	case r.Running():
		l.lookup.running.remove(key, id)
	case r.late == 0:
		l.lookup.ended.remove(key, id)
	}
}
