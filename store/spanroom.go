// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "unsafe"

// newRow returns a record that is in no list, and evicts another one for it if
// there is no room.
func (l *spanLog) newRow() rowID {
	for l.unused == 0 {
		if len(l.chunks)*chunkLen+chunkLen <= max(l.maxRows, chunkLen) {
			l.newChunk()
		} else {
			l.evict()
		}
	}
	id := l.unused
	l.unused = l.row(id).next
	*l.row(id) = spanRecord{}
	return id
}

func (l *spanLog) newChunk() {
	chunk := new([chunkLen]spanRecord)
	l.chunks = append(l.chunks, chunk)
	rows := len(l.chunks) * chunkLen
	l.bytes += allocSize(int64(unsafe.Sizeof(*chunk))) + mapSize(rows, indexSlot) - mapSize(rows-chunkLen, indexSlot)
	first := rowID((len(l.chunks)-1)*chunkLen + 1)
	for i := range chunk {
		chunk[i].next = first + rowID(i) + 1
	}
	chunk[chunkLen-1].next = l.unused
	l.unused = first
}

// trim evicts what is too much.
func (l *spanLog) trim() {
	for l.bytes > l.maxBytes && l.evict() {
	}
}

// evict makes room, or moves on towards it. It returns false if there is nothing
// to be evicted.
func (l *spanLog) evict() bool {
	switch {
	case l.lists[errorList].len > l.maxErrors:
		l.evictEnded(l.lists[errorList].first)
	case l.lists[newestList].len > 0:
		l.evictEnded(l.lists[newestList].first)
	default:
		for _, list := range [...]listID{passedList, errorList, pinnedList, runningList} {
			if id := l.lists[list].first; id != 0 {
				l.free(id)
				return true
			}
		}
		return false
	}
	return true
}

// evictEnded frees a record, unless it is kept as an extreme of its name.
func (l *spanLog) evictEnded(id rowID) {
	if r := l.row(id); r.slow || r.hungry {
		l.unlink(id)
		l.push(id, pinnedList)
		return
	}
	l.free(id)
}

// free gives a record back.
func (l *spanLog) free(id rowID) {
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
