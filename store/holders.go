// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

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
func (l *spanLog) retain(h *holders) {
	if h.refs > 0 {
		l.lists[h.list()].texts -= h.bytes
	}
	h.refs++
	l.lists[freeList].texts += h.bytes
}

// release takes away a holder that is in no list.
func (l *spanLog) release(h *holders) {
	l.lists[freeList].texts -= h.bytes
	h.refs--
	if h.refs > 0 {
		l.lists[h.list()].texts += h.bytes
	}
}

// enlist says that some holders come to a list, or by a number below 0 that they
// leave it.
func (l *spanLog) enlist(h *holders, list listID, records int32) {
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
func (l *spanLog) enlistTexts(r *spanRecord, records int32) {
	if r.list == freeList {
		return
	}
	l.lists[r.list].texts += int64(records) * allocSize(int64(len(r.status)))
	l.enlist(&r.name.holders, r.list, records)
	if r.label != nil {
		l.enlist(&r.label.holders, r.list, records)
	}
}
