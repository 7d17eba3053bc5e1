// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"
)

// found is what a Query found: immutable data, to be read without a lock.
type found struct {
	// windows are those of the kind that overlap the query's time, groups
	// those with a label set that matches.
	windows []*window
	groups  []*group
	// types are the value types of the kind in all windows held, those of
	// the newest window first, and selected is the one of the query.
	types    []valueType
	selected valueType
	// newest is the latest window of each service.
	newest map[string]*window
}

// find answers q. The error is about its SampleType.
func (s *Store) find(q Query) (found, error) {
	// A query for one span looks at its groups only.
	byID := slices.IndexFunc(q.Matchers, Matcher.namesID)
	var groups []*group
	s.mu.RLock()
	windows := s.index.windows
	if byID >= 0 {
		if e := s.index.ids[q.Matchers[byID].value]; e != nil {
			groups = e.groups
		}
	}
	s.mu.RUnlock()

	f := found{types: typesOf(windows, q.Kind), newest: make(map[string]*window)}
	if len(f.types) == 0 {
		f.selected.name = q.SampleType
		return f, nil
	}
	var err error
	if f.selected, err = selectType(f.types, defaultType(windows, q.Kind), q); err != nil {
		return found{}, err
	}
	for _, w := range windows {
		if w.kind != q.Kind || !w.overlaps(q.From, q.Until) {
			continue
		}
		f.windows = append(f.windows, w)
		if newest := f.newest[w.service]; newest == nil || !w.end.Before(newest.end) {
			f.newest[w.service] = w
		}
	}

	m := labelMatcher{matchers: q.Matchers, sets: make(map[*labelSet]bool)}
	if byID >= 0 {
		for _, g := range groups {
			if g.window.kind == q.Kind && g.window.overlaps(q.From, q.Until) && m.matches(g) {
				f.groups = append(f.groups, g)
			}
		}
		return f, nil
	}
	for _, w := range f.windows {
		for i := range w.groups {
			if m.matches(&w.groups[i]) {
				f.groups = append(f.groups, &w.groups[i])
			}
		}
	}
	return f, nil
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
