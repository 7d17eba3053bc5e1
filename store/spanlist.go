// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// rowID is the place of a record in the log; 0 is none.
type rowID uint32

// listID names the one list that a record is in.
type listID uint8

// The lists, each in the order in which records came to it.
const (
	freeList listID = iota
	// runningList has the local roots that have started but not ended.
	runningList
	newestList
	// errorList has the spans with errors: they make room for other errors
	// only.
	errorList
	// passedList has the spans that are not kept for the user, only until the
	// windows with their samples have come.
	passedList
	// pinnedList has what is no longer among the newest, but still among the
	// slowest of its name or those with most CPU time.
	pinnedList
	listCount
)

// spanList is a list of records, linked by prev and next.
type spanList struct {
	first, last rowID
	len         int
	// texts is the memory of the texts that only records of this list have:
	// what goes with them. That of freeList is what others share.
	texts int64
}

func (l *spanLog) push(id rowID, to listID) {
	r, list := l.row(id), &l.lists[to]
	r.list, r.prev, r.next = to, list.last, 0
	if list.last != 0 {
		l.row(list.last).next = id
	} else {
		list.first = id
	}
	list.last = id
	list.len++
	l.enlistTexts(r, +1)
}

func (l *spanLog) unlink(id rowID) {
	r := l.row(id)
	l.enlistTexts(r, -1)
	list := &l.lists[r.list]
	r.list = freeList
	if r.prev != 0 {
		l.row(r.prev).next = r.next
	} else {
		list.first = r.next
	}
	if r.next != 0 {
		l.row(r.next).prev = r.prev
	} else {
		list.last = r.prev
	}
	list.len--
}
