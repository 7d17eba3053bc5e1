// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// newRow returns a record that is in no list, and evicts another one for it if
// there is no room.
func (l *spanLog) newRow() rowID {
	for l.unused == 0 {
		if len(l.chunks)*chunkLen < l.maxRows {
			l.newChunk()
		} else {
			l.evict()
		}
	}
	id := l.unused
	l.save(id)
	l.unused = l.row(id).next
	*l.row(id) = spanRecord{}
	return id
}

func (l *spanLog) newChunk() {
	chunk := new([chunkLen]spanRecord)
	l.chunks = append(l.chunks, chunk)
	rows := len(l.chunks) * chunkLen
	l.bytes += rowsSize(rows) - rowsSize(rows-chunkLen)
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
func (l *spanLog) evict() {
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
func (l *spanLog) trim() {
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
func (l *spanLog) evictFrom(list listID) {
	id := l.lists[list].first
	if r := l.row(id); (list == newestList || list == errorList) && (r.slow || r.hungry) {
		l.unlink(id)
		l.push(id, pinnedList)
		return
	}
	l.free(id)
}

// free gives a record back.
func (l *spanLog) free(id rowID) {
	l.save(id)
	r := l.row(id)
	switch r.list {
	case newestList, errorList, pinnedList:
		l.evicted++
		l.generation.Add(1)
	}
	l.unlink(id)
	l.unpin(id)
	if key := newSpanKey(r.spanID); l.index[key] == id {
		delete(l.index, key)
	}
	l.bytes -= allocSize(int64(len(r.status)))
	l.releaseName(r.name)
	l.releaseText(r.label)
	*r = spanRecord{next: l.unused}
	l.unused = id
}
