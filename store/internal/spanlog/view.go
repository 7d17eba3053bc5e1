// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"slices"
	"sync"
)

// saveLen is how many saved records are allocated at once.
const saveLen = 64

// history lets views read records as they were when the view was opened: while views
// are open, a record is saved before its first change since the newest was opened.
type history struct {
	oldest, newest *snapshot
	// saved is the number of records saved for all open views.
	saved int
}

// snapshot holds the records that changed between the opening of a view and that of
// the next one, as they were at first.
type snapshot struct {
	next  *snapshot
	views int
	// places tell where in saved a record is, from 1 on, by chunk; nil for a
	// chunk of which none is.
	places []*[chunkLen]int32
	// saved has room for saveLen records each, of which len are there in all.
	saved []*[saveLen]savedRecord
	len   int
}

type savedRecord struct {
	id rowID
	Record
}

// savedPool has the memory of snapshots that no view reads any more: spans that end
// while a page is open need none of their own.
var savedPool = sync.Pool{New: func() any { return new([saveLen]savedRecord) }}

// View is the log as it is at one moment.
type View struct {
	log  *Log
	from *snapshot
	// Counts are what was counted by name since TakeCounts, Totals what the
	// log holds, Generation its generation, Exacts the number of records with exact times.
	Counts     []Count
	Totals     Totals
	Generation uint64
	Exacts     int
}

// Open returns a view of the log as it is now, or last, the newest one, again: where
// the views that are open keep as many records as the log does, others share the
// moment of the last, which bounds the memory of all. Close must be called as often
// as Open.
func (l *Log) Open(last *View) *View {
	l.lock()
	defer l.mu.Unlock()
	h := &l.history
	if last != nil && h.saved > l.maxRows {
		last.from.views++
		return last
	}
	// A snapshot in which nothing has changed serves the new view too.
	if h.newest == nil || h.newest.len > 0 {
		s := &snapshot{}
		if h.newest == nil {
			h.oldest = s
		} else {
			h.newest.next = s
		}
		h.newest = s
	}
	h.newest.views++
	return &View{log: l, from: h.newest, Counts: l.pendingCounts(), Totals: l.totals(), Generation: l.generation.Load(), Exacts: len(l.exacts.rows)}
}

// Close forgets what no other view reads. It reports whether no view is open any
// more.
func (v *View) Close() (last bool) {
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.history
	v.from.views--
	for h.oldest != nil && h.oldest.views == 0 {
		h.saved -= h.oldest.len
		for _, some := range h.oldest.saved {
			savedPool.Put(some)
		}
		h.oldest = h.oldest.next
	}
	if h.oldest == nil {
		h.newest = nil
	}
	return h.newest == nil
}

// Each shows copies of all records that are kept and wanted. The last
// come first, as these are the newest until records are used again. wanted runs
// while the log is locked.
func (v *View) Each(wanted func(*Row) bool, visit func(*Record)) {
	var rows [copyLen]Record
	for first := v.log.len() - copyLen; first >= 0; first -= copyLen {
		n := v.copyRows(&rows, first, wanted)
		for i := range n {
			visit(&rows[i])
		}
	}
}

// copyRows copies what is wanted of copyLen records, the last first, and returns
// how many these are.
func (v *View) copyRows(rows *[copyLen]Record, first int, wanted func(*Row) bool) (n int) {
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := v.from.changed(first / chunkLen)
	for i := first + copyLen; i > first; i-- {
		r := l.row(rowID(i))
		var saved *Record
		if changed {
			if saved = savedSince(v.from, rowID(i)); saved != nil {
				r = &saved.Row
			}
		}
		switch {
		case r.list == freeList || r.list == passedList || !wanted(r):
			continue
		case saved != nil:
			rows[n] = *saved
		default:
			rows[n] = l.record(r)
		}
		n++
	}
	return n
}

// save keeps a record that is about to change for the views that are open.
func (l *Log) save(id rowID) {
	s := l.history.newest
	if s == nil {
		return
	}
	chunk, i := int(id-1)/chunkLen, int(id-1)%chunkLen
	if chunk >= len(s.places) {
		s.places = append(s.places, make([]*[chunkLen]int32, len(l.chunks)-len(s.places))...)
	}
	places := s.places[chunk]
	if places == nil {
		places = new([chunkLen]int32)
		s.places[chunk] = places
	}
	if places[i] != 0 {
		return
	}
	if s.len%saveLen == 0 {
		s.saved = append(s.saved, savedPool.Get().(*[saveLen]savedRecord))
	}
	s.saved[s.len/saveLen][s.len%saveLen] = savedRecord{id, l.record(l.row(id))}
	s.len++
	places[i] = int32(s.len)
	l.history.saved++
}

// savedSince returns a record as it was at the start of a snapshot, nil if it has not
// changed since. The caller holds the lock of the log.
func savedSince(s *snapshot, id rowID) *Record {
	for ; s != nil; s = s.next {
		if r := s.at(id); r != nil {
			return r
		}
	}
	return nil
}

// changed reports whether a record of a chunk has changed since the start of s.
func (s *snapshot) changed(chunk int) bool {
	for ; s != nil; s = s.next {
		if chunk < len(s.places) && s.places[chunk] != nil {
			return true
		}
	}
	return false
}

// eachSaved shows the records that have changed since the view was opened, as they
// were then. Nothing is locked meanwhile: what is saved never changes.
func (v *View) eachSaved(visit func(*Record)) {
	for s := v.from; s != nil; {
		saved, n, next := v.log.savedIn(s)
		for i := range n {
			if r := &saved[i/saveLen][i%saveLen]; !v.from.has(r.id, s) {
				visit(&r.Record)
			}
		}
		s = next
	}
}

func (l *Log) savedIn(s *snapshot) (saved []*[saveLen]savedRecord, n int, next *snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(s.saved), s.len, s.next
}

// has says whether a record was saved in s or in a later snapshot before until.
func (s *snapshot) has(id rowID, until *snapshot) bool {
	for ; s != until; s = s.next {
		if s.at(id) != nil {
			return true
		}
	}
	return false
}

// at returns what was saved of a record, nil for none.
func (s *snapshot) at(id rowID) *Record {
	chunk := int(id-1) / chunkLen
	if chunk >= len(s.places) || s.places[chunk] == nil {
		return nil
	}
	place := int(s.places[chunk][int(id-1)%chunkLen]) - 1
	if place < 0 {
		return nil
	}
	return &s.saved[place/saveLen][place%saveLen].Record
}
