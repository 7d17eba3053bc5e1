// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import "github.com/spanprof/spanprof/store/internal/attributes"

// TakeEnded shows copies of the records of this process that are kept, whose samples
// have come, and that have changed since it was called last: with again, all of them; with
// everything, those too whose samples have not come. It is how a directory gets the spans,
// beside what runs on the request path: the log is locked for copyLen records at a time.
func (l *Log) TakeEnded(everything, again bool, visit func(*Record)) {
	l.eachCopy(func(r *Row) bool {
		if r.saved > 0 && !again || r.Earlier != 0 || !r.kept() || !everything && !l.hasSamples(r) {
			return false
		}
		r.saved = 1
		return true
	}, visit)
}

// EachPinned shows copies of the records that are kept for longer than the newest, also
// those of earlier processes: with everything, those too whose samples have not come.
func (l *Log) EachPinned(everything bool, visit func(*Record)) {
	l.eachCopy(func(r *Row) bool {
		return r.kept() && r.places != 0 && (everything || r.Earlier != 0 || l.hasSamples(r))
	}, visit)
}

// hasSamples says whether all windows in which a span ran have come, as far as there are any.
func (l *Log) hasSamples(r *Row) bool {
	return l.joinedUntil == 0 || r.Start+r.Duration <= l.joinedUntil
}

// kept reports whether a record is of a span that ended and is kept for the user.
func (r *Row) kept() bool {
	return r.list == newestList || r.list == errorList || r.list == pinnedList
}

// eachCopy shows copies of the records that are wanted, which runs while the log is
// locked. What happened to spans until now is in them.
func (l *Log) eachCopy(wanted func(*Row) bool, visit func(*Record)) {
	l.Settle()
	var rows [copyLen]Record
	for first := 0; ; first += copyLen {
		n, more := l.copySome(&rows, first, wanted)
		for i := range n {
			visit(&rows[i])
		}
		if !more {
			return
		}
	}
}

func (l *Log) copySome(rows *[copyLen]Record, first int, wanted func(*Row) bool) (n int, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first >= len(l.chunks)*chunkLen {
		return 0, false
	}
	for i := first + 1; i <= first+copyLen; i++ {
		if r := l.row(rowID(i)); wanted(r) {
			rows[n] = l.record(r)
			n++
		}
	}
	return n, true
}

// Attributes returns the entries of a record's attributes.
func (l *Log) Attributes(r *Record) (entries []attributes.Entry) {
	if r.Attributes == nil {
		return nil
	}
	for e := range l.keys.All(r.Attributes.String()) {
		entries = append(entries, e)
	}
	return entries
}
