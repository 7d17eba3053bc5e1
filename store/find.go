// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"
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
	// newest is the latest window of each service.
	newest map[string]*window
}

// find answers q. The error is about its SampleType.
func (s *Store) find(q Query) (found, error) {
	windows := s.allWindows()
	f := found{types: typesOf(windows, q.Kind), newest: make(map[string]*window)}
	if len(f.types) == 0 {
		f.selected.name = q.SampleType
		return f, nil
	}
	var err error
	if f.selected, err = selectType(f.types, defaultType(windows, q.Kind), q); err != nil {
		return found{}, err
	}
	for _, w := range s.windows() {
		if w.kind != q.Kind || !w.overlaps(q.From, q.Until) {
			continue
		}
		f.windows = append(f.windows, w)
		if newest := f.newest[w.service]; newest == nil || !w.end.Before(newest.end) {
			f.newest[w.service] = w
		}
	}

	f.groups = s.groups(q, func(w *window) bool { return w.kind == q.Kind })
	f.windows = append(keptOf(f.groups), f.windows...)
	return f, nil
}

// groups returns the groups that match, of the windows of q's time and those that
// only accepts. A query for one span finds what is kept of older windows too.
func (s *Store) groups(q Query, only func(*window) bool) []group {
	m := newLabelMatcher(q.Matchers)
	var matched, named []group
	byID := slices.IndexFunc(q.Matchers, Matcher.namesID)
	if byID >= 0 {
		id, key := q.Matchers[byID].value, q.Matchers[byID].key
		for _, w := range s.allWindows() {
			if !only(w) || !w.overlaps(q.From, q.Until) {
				continue
			}
			named = w.appendGroups(named[:0], id, key)
			for _, g := range named {
				if m.matches(g) {
					matched = append(matched, g)
				}
			}
		}
		return matched
	}
	for _, w := range s.windows() {
		if !only(w) || !w.overlaps(q.From, q.Until) {
			continue
		}
		for i := range w.groups {
			if g := (group{w, i}); m.matches(g) {
				matched = append(matched, g)
			}
		}
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
