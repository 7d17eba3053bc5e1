// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "slices"

// saveLen is how many saved records are allocated at once.
const saveLen = 64

// history lets views read records as they were when the view was opened. While
// views are open, a record is saved before its first change since the newest view.
type history struct {
	oldest, newest *snapshot
	// views is the number of open views, saved that of the records saved for
	// them.
	views, saved int
}

// snapshot is the time from one view to the next. It has the records that changed in
// that time, as they were at its start.
type snapshot struct {
	next  *snapshot
	views int
	// places tell where in saved a record is, from 1 on, by chunk; nil for a
	// chunk of which none is.
	places []*[chunkLen]int32
	saved  [][]savedRecord
	len    int
}

type savedRecord struct {
	id rowID
	spanRecord
}

// openView returns the snapshot for a new view. The caller holds the lock.
func (l *spanLog) openView() *snapshot {
	h := &l.history
	h.views++
	// A snapshot in which nothing has changed serves the new view too.
	if h.newest == nil || h.newest.len > 0 {
		e := &snapshot{places: make([]*[chunkLen]int32, len(l.chunks))}
		if h.newest == nil {
			h.oldest = e
		} else {
			h.newest.next = e
		}
		h.newest = e
	}
	h.newest.views++
	return h.newest
}

// closeView forgets what no view reads any more. The caller holds the lock.
func (l *spanLog) closeView(e *snapshot) {
	h := &l.history
	h.views--
	e.views--
	if h.views == 0 {
		*h = history{}
		return
	}
	for h.oldest.views == 0 {
		h.saved -= h.oldest.len
		h.oldest = h.oldest.next
	}
}

// crowded says whether the views that are open hold as many records as the log
// does. Another one shares the snapshot of the last then, which bounds the memory
// of all.
func (l *spanLog) crowded() bool { return l.history.saved > l.maxRows }

// save keeps a record that is about to change for the views that are open.
func (l *spanLog) save(id rowID) {
	e := l.history.newest
	if e == nil {
		return
	}
	chunk, i := int(id-1)/chunkLen, int(id-1)%chunkLen
	for chunk >= len(e.places) {
		e.places = append(e.places, nil)
	}
	places := e.places[chunk]
	if places == nil {
		places = new([chunkLen]int32)
		e.places[chunk] = places
	}
	if places[i] != 0 {
		return
	}
	if e.len%saveLen == 0 {
		e.saved = append(e.saved, make([]savedRecord, 0, saveLen))
	}
	last := &e.saved[e.len/saveLen]
	*last = append(*last, savedRecord{id, *l.row(id)})
	e.len++
	places[i] = int32(e.len)
	l.history.saved++
}

// rowAt returns a record as it was at the start of a snapshot. The caller holds the
// lock.
func (l *spanLog) rowAt(e *snapshot, id rowID) *spanRecord {
	for ; e != nil; e = e.next {
		if r := e.at(id); r != nil {
			return r
		}
	}
	return l.row(id)
}

// eachSaved shows the records that have changed since the start of a snapshot, as
// they were then. Nothing is locked meanwhile: what is saved never changes.
func (l *spanLog) eachSaved(from *snapshot, visit func(*spanRecord)) {
	for e := from; e != nil; {
		saved, next := l.savedIn(e)
		for _, some := range saved {
			for i := range some {
				if r := &some[i]; !from.has(r.id, e) {
					visit(&r.spanRecord)
				}
			}
		}
		e = next
	}
}

func (l *spanLog) savedIn(e *snapshot) (saved [][]savedRecord, next *snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(e.saved), e.next
}

// has says whether a record was saved in e or in a later snapshot before until.
func (e *snapshot) has(id rowID, until *snapshot) bool {
	for ; e != until; e = e.next {
		if e.at(id) != nil {
			return true
		}
	}
	return false
}

// at returns what was saved of a record, nil for none.
func (e *snapshot) at(id rowID) *spanRecord {
	chunk := int(id-1) / chunkLen
	if chunk >= len(e.places) || e.places[chunk] == nil {
		return nil
	}
	place := int(e.places[chunk][int(id-1)%chunkLen]) - 1
	if place < 0 {
		return nil
	}
	return &e.saved[place/saveLen][place%saveLen].spanRecord
}
