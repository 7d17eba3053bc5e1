// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/store/internal/attributes"
)

const (
	// maxErrorTypes is how many types of errors have records that are kept for
	// longer, lastErrors how many each has.
	maxErrorTypes = 256
	lastErrors    = 3
)

// errorType has the last spans with samples that failed in one way.
type errorType struct {
	hash uint64
	// rows are the records, the newest first; 0 for none.
	rows [lastErrors]rowID
}

// errorHash tells types of errors of a service apart: by the type of the exception or,
// where that says nothing or there is none, by a text.
func (l *Log) errorHash(r *Row) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	_, _ = h.WriteString(l.nameOf(r).Service)
	_ = h.WriteByte(0)
	if exception := l.ownAttribute(r, attributes.ExceptionType); exception != "" && !wrapsText(exception) {
		_, _ = h.WriteString(exception)
		return h.Sum64()
	}
	text := l.statuses.at(r.status)
	for _, key := range []string{attributes.ExceptionMessage, attributes.ErrorType} {
		if text == "" {
			text = l.ownAttribute(r, key)
		}
	}
	_ = h.WriteByte(1)
	writeWords(&h, text)
	return h.Sum64()
}

// wrapsText reports whether a type is one that Go's standard library and
// github.com/pkg/errors give any text: most errors of a program are of few such types.
func wrapsText(exception string) bool {
	return strings.HasPrefix(exception, "*errors.") || strings.HasPrefix(exception, "*fmt.")
}

// writeWords writes the words of a text, but for those with digits: they are ids, times
// and numbers.
func writeWords(h *maphash.Hash, text string) {
	for word := range strings.SplitSeq(text, " ") {
		if !strings.ContainsAny(word, "0123456789") {
			_, _ = h.WriteString(word)
		}
		_ = h.WriteByte(' ')
	}
}

// offerError enters a record with samples among the last errors of its type. The type
// that has had no error for the longest time makes room for a new one.
func (l *Log) offerError(id rowID) {
	r := l.row(id)
	if !r.Err || r.places&lastError != 0 {
		return
	}
	hash := l.errorHash(r)
	i := slices.IndexFunc(l.errorTypes, func(t errorType) bool { return t.hash == hash })
	if i < 0 {
		if len(l.errorTypes) < l.maxErrorTypes {
			l.errorTypes = append(l.errorTypes, errorType{hash: hash})
		} else {
			// Those that come last are the newest.
			for _, old := range l.errorTypes[0].rows {
				if old != 0 {
					l.leave(old, lastError)
				}
			}
			l.errorTypes[0] = errorType{hash: hash}
			l.newestErrorType(0)
		}
		i = len(l.errorTypes) - 1
	}
	t := &l.errorTypes[i]
	// Samples may come in another order than the spans.
	at := 0
	for at < lastErrors && t.rows[at] != 0 && l.row(t.rows[at]).Start > r.Start {
		at++
	}
	if at == lastErrors {
		return
	}
	out := t.rows[lastErrors-1]
	copy(t.rows[at+1:], t.rows[at:lastErrors-1])
	t.rows[at] = id
	r.places |= lastError
	l.newestErrorType(i)
	if out != 0 {
		l.leave(out, lastError)
	}
}

// newestErrorType puts a type behind the others.
func (l *Log) newestErrorType(i int) {
	t := l.errorTypes[i]
	copy(l.errorTypes[i:], l.errorTypes[i+1:])
	l.errorTypes[len(l.errorTypes)-1] = t
}

// errorRank is how many errors of the type are newer.
func (l *Log) errorRank(r *Row) int {
	for i := range l.errorTypes {
		for rank, id := range l.errorTypes[i].rows {
			if id != 0 && l.row(id) == r {
				return rank
			}
		}
	}
	return NoRank
}

// forgetError takes a record out of the errors of its type.
func (l *Log) forgetError(id rowID) {
	for i := range l.errorTypes {
		rows := &l.errorTypes[i].rows
		if at := slices.Index(rows[:], id); at >= 0 {
			copy(rows[at:], rows[at+1:])
			rows[lastErrors-1] = 0
			return
		}
	}
}
