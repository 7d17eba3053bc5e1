// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "slices"

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
		return m.literals.hasKey(key) == (m.op == MatchRegexp)
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
