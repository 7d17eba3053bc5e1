// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "iter"

// match is the groups of one window that a query selects; there is one at least.
type match struct {
	window  *window
	matcher *labelMatcher
	// named are the groups of a query that lists ids. There are few; those of
	// any other query are found as they are asked for.
	named []group
	// labellings says which labellings of the window match; nil for all.
	labellings []bool
}

// groups returns the groups in the order of the window.
func (m *match) groups() iter.Seq[group] {
	return func(yield func(group) bool) {
		for _, g := range m.named {
			if !yield(g) {
				return
			}
		}
		if m.named != nil {
			return
		}
		for i := range m.window.groups {
			if g := (group{m.window, i}); m.selects(g) && !yield(g) {
				return
			}
		}
	}
}

func (m *match) selects(g group) bool {
	return (m.labellings == nil || m.labellings[m.window.labelled.at(g.index)]) && m.matcher.matchesIDs(g)
}

// empty says whether there is no group at all.
func (m *match) empty() bool {
	for range m.groups() {
		return false
	}
	return true
}

// appendSums appends the sum of a column for each labelling of the window.
func (m *match) appendSums(sums []int64, column int) []int64 {
	w := m.window
	if m.named == nil && len(m.matcher.ids) == 0 && w.sums != nil {
		for i := range w.labellings {
			sum := int64(0)
			if m.labellings == nil || m.labellings[i] {
				sum = w.sums[i*len(w.types)+column]
			}
			sums = append(sums, sum)
		}
		return sums
	}
	sums = append(sums, make([]int64, len(w.labellings))...)
	for g := range m.groups() {
		first, last := g.bounds()
		for i := first; i < last; i++ {
			sums[w.labelled.at(g.index)] += w.value(i, column)
		}
	}
	return sums
}

// matches returns what q selects in the windows of its time. A query that lists
// ids finds what is kept of older windows too.
func (q *Query) matches(kept, windows iter.Seq[*window]) []match {
	matcher := newLabelMatcher(q.Matchers)
	id, byID := matcher.namedID()
	byIDs := matcher.listsIDs()
	var matches []match
	look := func(w *window) {
		if !w.overlaps(q.From, q.Until) {
			return
		}
		m := match{window: w, matcher: matcher}
		switch {
		case byID:
			for _, g := range w.appendGroups(nil, id.value, id.key) {
				if matcher.matches(g) {
					m.named = append(m.named, g)
				}
			}
		case byIDs:
			// To search for each of 500 takes no less than to look at all.
			for i := range w.groups {
				if g := (group{w, i}); matcher.matches(g) {
					m.named = append(m.named, g)
				}
			}
		default:
			if m.labellings = matcher.labellings(w); !m.empty() {
				matches = append(matches, m)
			}
			return
		}
		if m.named != nil {
			matches = append(matches, m)
		}
	}
	if byIDs {
		for w := range kept {
			look(w)
		}
	}
	for w := range windows {
		look(w)
	}
	return matches
}
