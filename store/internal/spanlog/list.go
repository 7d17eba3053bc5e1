// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

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
	// pinnedList has what is no longer among the newest, but has a place among
	// those that are kept for longer.
	pinnedList
	listCount
)

// list is a list of records, linked by prev and next.
type list struct {
	first, last rowID
	len         int
	// texts is the memory of the texts that only records of this list have:
	// what goes with them. That of freeList is what others share.
	texts int64
}

func (l *Log) push(id rowID, to listID) {
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

func (l *Log) unlink(id rowID) {
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

// newRow returns a record that is in no list, and evicts another one for it if
// there is no room.
func (l *Log) newRow() rowID {
	for l.unused == 0 {
		if len(l.chunks)*chunkLen < l.maxRows {
			l.newChunk()
		} else {
			l.evict()
		}
	}
	id := l.unused
	l.save(id)
	r := l.row(id)
	l.unused, r.next = r.next, 0
	return id
}

func (l *Log) newChunk() {
	chunk := new([chunkLen]Row)
	l.chunks = append(l.chunks, chunk)
	rows := len(l.chunks) * chunkLen
	l.growLookup(rows, l.maxRunning)
	l.bytes += rowsSize(rows, l.maxRunning) - rowsSize(rows-chunkLen, l.maxRunning)
	first := rowID((len(l.chunks)-1)*chunkLen + 1)
	for i := range chunk {
		chunk[i].next = first + rowID(i) + 1
	}
	chunk[chunkLen-1].next = l.unused
	l.unused = first
}

// evictionOrder has the lists in the order in which they make room.
var evictionOrder = [...]listID{newestList, passedList, errorList, pinnedList, runningList}

// evict makes room for a record, or moves on towards it.
func (l *Log) evict() {
	if l.lists[errorList].len > l.maxErrors {
		l.evictFrom(errorList)
		return
	}
	for _, list := range evictionOrder {
		if l.lists[list].len > 0 {
			l.evictFrom(list)
			return
		}
	}
}

// trim evicts until there is room for texts. Records are evicted where their texts
// take most: those of another list would give little back, as the memory of a
// record stays.
func (l *Log) trim() {
	for l.bytes > l.maxBytes {
		most := freeList
		for _, list := range evictionOrder {
			if l.lists[list].len > 0 && (most == freeList || l.lists[list].texts > l.lists[most].texts) {
				most = list
			}
		}
		if most == freeList {
			return
		}
		l.evictFrom(most)
	}
}

// evictFrom frees the oldest record of a list, or moves it to those that are kept
// as the extremes of their names.
func (l *Log) evictFrom(list listID) {
	id := l.lists[list].first
	if r := l.row(id); (list == newestList || list == errorList) && r.places != 0 {
		l.unlink(id)
		l.push(id, pinnedList)
		return
	}
	l.free(id)
}

// free gives a record back.
func (l *Log) free(id rowID) {
	l.save(id)
	r := l.row(id)
	switch r.list {
	case newestList, errorList, pinnedList:
		l.generation.Add(1)
		if r.Earlier != 0 {
			l.restored--
			break
		}
		l.evicted++
		if l.outstanding(r) {
			l.depart(r)
		}
	case runningList:
		l.forgotten++
		l.abandon(r)
	}
	l.dropExact(id)
	l.unindex(id)
	l.unlink(id)
	l.unpin(id)
	l.dropStatus(r)
	l.releaseName(l.nameOf(r))
	l.releaseText(l.labelOf(r))
	l.releaseText(l.attributesOf(r))
	if !r.LocalRoot {
		l.inner--
	}
	*r = Row{next: l.unused}
	l.unused = id
}
