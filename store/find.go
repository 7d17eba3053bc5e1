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
	// is kept of older ones and matches; groups are those that match.
	windows []*window
	groups  []group
	// types are the value types of the kind in all windows held, those of
	// the newest window first, and selected is the one of the query.
	types    []valueType
	selected valueType
	// newest is the latest window of each service that has any of the groups.
	newest map[string]*window
}

// find answers q. The error is about its SampleType.
func (s *Store) find(q Query) (found, error) {
	kept, windows := s.snapshot()
	all := slices.Concat(kept, windows)
	f := found{types: typesOf(all, q.Kind), newest: make(map[string]*window)}
	if len(f.types) == 0 {
		f.selected.name = q.SampleType
		return f, nil
	}
	var err error
	if f.selected, err = selectType(f.types, defaultType(all, q.Kind), q); err != nil {
		return found{}, err
	}
	f.groups = q.groups(ofKind(kept, q.Kind), ofKind(windows, q.Kind))
	for _, g := range f.groups {
		w := g.window
		if newest := f.newest[w.service]; newest == nil || !w.end.Before(newest.end) {
			f.newest[w.service] = w
		}
	}
	f.windows = keptOf(f.groups)
	for _, w := range windows {
		if w.kind == q.Kind && w.overlaps(q.From, q.Until) {
			f.windows = append(f.windows, w)
		}
	}
	return f, nil
}

// snapshot returns the windows held, in the order of their arrival, and what is
// kept of those that are gone.
func (s *Store) snapshot() (kept, windows []*window) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.kept, s.index.windows
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

// groups returns the groups that match, of the windows of q's time. A query for
// one span finds what is kept of older windows too.
func (q *Query) groups(kept, windows iter.Seq[*window]) []group {
	m := newLabelMatcher(q.Matchers)
	var matched, candidates []group
	byID := slices.IndexFunc(q.Matchers, Matcher.namesID)
	look := func(w *window) {
		if !w.overlaps(q.From, q.Until) {
			return
		}
		candidates = candidates[:0]
		if byID >= 0 {
			candidates = w.appendGroups(candidates, q.Matchers[byID].value, q.Matchers[byID].key)
		} else {
			candidates = w.appendAll(candidates)
		}
		for _, g := range candidates {
			if m.matches(g) {
				matched = append(matched, g)
			}
		}
	}
	if byID >= 0 {
		for w := range kept {
			look(w)
		}
	}
	for w := range windows {
		look(w)
	}
	return matched
}

// keptOf returns what is kept of windows that are gone and has any of the groups,
// which are in the order of the windows.
func keptOf(groups []group) []*window {
	var kept []*window
	for _, g := range groups {
		if g.window.kept && (len(kept) == 0 || kept[len(kept)-1] != g.window) {
			kept = append(kept, g.window)
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
