// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"slices"
)

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
	return (m.labellings == nil || m.labellings[m.window.labelled.At(g.index)]) && m.matcher.matchesIDs(g)
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
			sums[w.labelled.At(g.index)] += w.value(i, column)
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

// labelMatcher applies the matchers of one query to groups.
type labelMatcher struct {
	// ids are the matchers on ids, which every group is asked about, labels
	// the others.
	ids, labels []Matcher
	// answers remembers what matched: windows share their label sets.
	answers map[labelsOf]bool
}

// labelsOf is a label set of samples of one service and version.
type labelsOf struct {
	set              *labelSet
	service, version string
}

func newLabelMatcher(matchers []Matcher) *labelMatcher {
	m := &labelMatcher{answers: make(map[labelsOf]bool)}
	for _, matcher := range matchers {
		if matcher.onID() {
			m.ids = append(m.ids, matcher)
		} else {
			m.labels = append(m.labels, matcher)
		}
	}
	return m
}

// namedID returns the matcher that has the id of one span, if there is one.
func (m *labelMatcher) namedID() (Matcher, bool) {
	if i := slices.IndexFunc(m.ids, Matcher.namesID); i >= 0 {
		return m.ids[i], true
	}
	return Matcher{}, false
}

// listsIDs says whether what matches is of some ids, which leaves few groups.
func (m *labelMatcher) listsIDs() bool { return slices.ContainsFunc(m.ids, Matcher.ListsIDs) }

// get returns the value of a label; the service's name and version are those of
// the resource unless a sample has them as labels of its own.
func (l labelsOf) get(key string) string {
	value, ok := l.set.lookup(key)
	switch {
	case ok:
		return value
	case key == serviceNameLabel:
		return l.service
	case key == serviceVersionLabel:
		return l.version
	default:
		return ""
	}
}

// labellings says which labellings of a window match, but for the ids; nil for
// all.
func (m *labelMatcher) labellings(w *window) []bool {
	if len(m.labels) == 0 {
		return nil
	}
	matched := make([]bool, len(w.labellings))
	for i, l := range w.labellings {
		matched[i] = m.matchesLabels(labelsOf{l.set, w.service, w.version})
	}
	return matched
}

func (m *labelMatcher) matches(g group) bool {
	return m.matchesIDs(g) && m.matchesLabels(labelsOf{g.labels(), g.window.service, g.window.version})
}

func (m *labelMatcher) matchesIDs(g group) bool {
	for _, matcher := range m.ids {
		if !matcher.matchesIDs(g) {
			return false
		}
	}
	return true
}

func (m *labelMatcher) matchesLabels(labels labelsOf) bool {
	matched, ok := m.answers[labels]
	if !ok {
		matched = !slices.ContainsFunc(m.labels, func(m Matcher) bool { return !m.matches(labels.get(m.label)) })
		m.answers[labels] = matched
	}
	return matched
}

// matchesIDs says whether the ids of a group match, for a matcher on an id.
func (m Matcher) matchesIDs(g group) bool {
	if m.namesID() || m.op == MatchNotEqual && m.namesSpan() {
		return g.belongsTo(m.value, m.key) == (m.op == MatchEqual)
	}
	if m.label == traceIDLabel {
		return m.matches(g.traceID())
	}
	key, span := g.spans()
	if m.label == spanIDLabel {
		key = span
	}
	switch {
	case key != 0 && m.literals != nil:
		// Without writing out each id.
		return m.literals.HasKey(key) == (m.op == MatchRegexp)
	case m.label == profileIDLabel:
		return m.matches(g.profileID())
	default:
		return m.matches(g.spanID())
	}
}

// namesID says whether only what belongs to one id matches.
func (m Matcher) namesID() bool { return m.op == MatchEqual && m.namesSpan() }

// namesSpan says whether the matcher has the id of a span or an exemplar.
func (m Matcher) namesSpan() bool {
	return m.value != "" && (m.label == profileIDLabel || m.label == spanIDLabel)
}

func (m Matcher) onID() bool {
	return m.label == profileIDLabel || m.label == spanIDLabel || m.label == traceIDLabel
}
