// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"slices"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// lookup finds records by the id of their spans. Spans that run have an index of their
// own, which their ends look into. Those that ended come into theirs when somebody looks
// for one of them: where many end, most have made room by then, and the way in and out of
// an index of all records is half of what a record costs.
type lookup struct {
	running, ended index
	late           lateRecords
}

// lateRecords are those that are in no index yet, in the order in which their spans ended:
// one may have the id of another. They are in a ring with a place for each record.
type lateRecords struct {
	chunks     []*[chunkLen]rowID
	first, len int
}

// lateStep is how many records come into the index while the log is locked.
const lateStep = 256

// lookupSize is the memory of what finds n records, of which so many run at most.
func lookupSize(n, running int) int64 {
	return indexSize(n) + indexSize(min(n, running)) + int64(n/chunkLen)*memory.Alloc(int64(unsafe.Sizeof([chunkLen]rowID{})))
}

// growLookup makes room for n records, of which so many run at most.
func (l *Log) growLookup(n, running int) {
	k := &l.lookup
	k.ended.grow(n)
	k.running.grow(min(n, running))
	l.indexAll()
	k.late.chunks = append(k.late.chunks, new([chunkLen]rowID))
	k.late.first = 0
}

func (r *lateRecords) at(place int) *rowID { return &r.chunks[place/chunkLen][place%chunkLen] }

// pop forgets the first of the records.
func (r *lateRecords) pop() {
	*r.at(r.first) = 0
	r.len--
	if r.first++; r.first == len(r.chunks)*chunkLen {
		r.first = 0
	}
}

// indexLater makes a record that of a span that ended.
func (l *Log) indexLater(key ident.Key, id rowID) {
	k := &l.lookup
	if other, ok := l.indexedRunning(key); ok {
		// The program has used an id twice: the newest record is that of the span.
		k.running.remove(key, other)
	}
	places := len(k.late.chunks) * chunkLen
	if k.late.len == places {
		l.indexNext()
	}
	place := (k.late.first + k.late.len) % places
	*k.late.at(place) = id
	l.row(id).late = uint32(place) + 1
	k.late.len++
}

// indexNext takes the oldest of the late records into the index, unless it has gone.
func (l *Log) indexNext() {
	k := &l.lookup
	if id := *k.late.at(k.late.first); id != 0 {
		r := l.row(id)
		r.late = 0
		l.setIndex(&k.ended, ident.NewKey(r.SpanID), id)
	}
	k.late.pop()
}

// indexAll takes all late records into the index.
func (l *Log) indexAll() {
	for l.lookup.late.len > 0 {
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
	for n := l.lookup.late.len; n > lateStep; n -= lateStep {
		for range min(lateStep, l.lookup.late.len) {
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
	r, k := l.row(id), &l.lookup
	switch key := ident.NewKey(r.SpanID); {
	case r.Running():
		k.running.remove(key, id)
	case r.late == 0:
		k.ended.remove(key, id)
	default:
		*k.late.at(int(r.late) - 1) = 0
		for k.late.len > 0 && *k.late.at(k.late.first) == 0 {
			k.late.pop()
		}
	}
}

// Known says which of the ids have a record, as far as it comes until ended reports true.
func (v *View) Known(keys []ident.Key, ended func() bool) map[ident.Key]bool {
	known := make(map[ident.Key]bool)
	if len(keys) == 0 {
		return known
	}
	for some := range slices.Chunk(keys, chunkLen) {
		if ended() {
			return known
		}
		v.log.mu.Lock()
		v.log.indexInSteps()
		for _, key := range some {
			if _, ok := v.indexed(key); ok {
				known[key] = true
			}
		}
		v.log.mu.Unlock()
	}
	v.eachSaved(func(r *Record) {
		if r.list != freeList {
			known[ident.NewKey(r.SpanID)] = true
		}
	})
	return known
}

// Find returns a copy of the record of a span.
func (v *View) Find(key ident.Key) (found Record, ok bool) {
	v.log.mu.Lock()
	v.log.indexInSteps()
	found, ok = v.indexed(key)
	v.log.mu.Unlock()
	if ok {
		return found, true
	}
	// Its record may have become another's since.
	v.eachSaved(func(r *Record) {
		if r.list != freeList && ident.NewKey(r.SpanID) == key {
			found, ok = *r, true
		}
	})
	return found, ok
}

// Lookup returns the name and the trace of a span that has a record now.
func (l *Log) Lookup(key ident.Key) (name string, trace trace.TraceID, ok bool) {
	l.lockIndexed()
	defer l.mu.Unlock()
	id, ok := l.indexed(key)
	if !ok {
		return "", trace, false
	}
	r := l.row(id)
	return l.nameOf(r).Value, r.TraceID, true
}

// indexed returns the record that a span has now, as it was then; false if the span
// had none or another one. The caller holds the lock.
func (v *View) indexed(key ident.Key) (r Record, ok bool) {
	id, ok := v.log.indexed(key)
	if !ok {
		return Record{}, false
	}
	if saved := savedSince(v.from, id); saved != nil {
		r = *saved
	} else {
		r = v.log.record(v.log.row(id))
	}
	return r, r.list != freeList && ident.NewKey(r.SpanID) == key
}
