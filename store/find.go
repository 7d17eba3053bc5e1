// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// found is what a Query found: immutable data, to be read without a lock.
type found struct {
	// windows are those of the kind that overlap the query's time, after what
	// is kept of older ones and matches.
	windows []*window
	matches []match
	// types are the value types of the kind in all windows held, those of
	// the newest window first, and selected is the one of the query.
	types    []valueType
	selected valueType
	// newest is the latest window of each service that has any of the matches.
	newest map[string]*window
}

// find answers q. The error is about its SampleType.
func (h *held) find(q Query) (found, error) {
	all := slices.Concat(h.kept, h.windows)
	f := found{types: typesOf(all, q.Kind), newest: make(map[string]*window)}
	if len(f.types) == 0 {
		f.selected.name = q.SampleType
		return f, nil
	}
	var err error
	if f.selected, err = selectType(f.types, defaultType(all, q.Kind), q); err != nil {
		return found{}, err
	}
	f.matches = q.matches(ofKind(h.kept, q.Kind), ofKind(h.windows, q.Kind))
	for i := range f.matches {
		w := f.matches[i].window
		if newest := f.newest[w.service]; newest == nil || !w.end.Before(newest.end) {
			f.newest[w.service] = w
		}
	}
	f.windows = keptOf(f.matches)
	for _, w := range h.windows {
		if w.kind == q.Kind && w.overlaps(q.From, q.Until) {
			f.windows = append(f.windows, w)
		}
	}
	return f, nil
}

// held returns what is held now.
func (s *Store) held() held {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.held
}

func ofKind(windows []*window, kind exporter.Kind) iter.Seq[*window] {
	return func(yield func(*window) bool) {
		for _, w := range windows {
			if w.kind == kind && !yield(w) {
				return
			}
		}
	}
}

// keptOf returns what is kept of windows that are gone.
func keptOf(matches []match) []*window {
	var kept []*window
	for i := range matches {
		if w := matches[i].window; w.kept {
			kept = append(kept, w)
		}
	}
	return kept
}

// column returns where a window has the values of a type, -1 where it has none
// that count.
func (f *found) column(w *window, t valueType) int {
	if t.momentary() && f.newest[w.service] != w {
		return -1
	}
	return w.column(t)
}

// bounds returns the time that the windows span.
func (f *found) bounds() (from, until time.Time) {
	for i, w := range f.windows {
		if i == 0 || w.start.Before(from) {
			from = w.start
		}
		if i == 0 || w.end.After(until) {
			until = w.end
		}
	}
	return from, until
}
