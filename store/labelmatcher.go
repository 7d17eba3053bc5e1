// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// labelMatcher applies the matchers of one query to groups.
type labelMatcher struct {
	matchers []Matcher
	// answers remembers what matched: windows share their label sets.
	answers map[labelsOf]bool
}

// labelsOf is a label set of samples of one service and version.
type labelsOf struct {
	set              *labelSet
	service, version string
}

func newLabelMatcher(matchers []Matcher) *labelMatcher {
	return &labelMatcher{matchers: matchers, answers: make(map[labelsOf]bool)}
}

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

func (m *labelMatcher) matches(g group) bool {
	for _, matcher := range m.matchers {
		if !matcher.matchesIDs(g) {
			return false
		}
	}
	labels := labelsOf{g.labels(), g.window.service, g.window.version}
	matched, ok := m.answers[labels]
	if !ok {
		matched = m.matchesLabels(labels)
		m.answers[labels] = matched
	}
	return matched
}

func (m *labelMatcher) matchesLabels(labels labelsOf) bool {
	for _, matcher := range m.matchers {
		if !matcher.onID() && !matcher.matches(labels.get(matcher.label)) {
			return false
		}
	}
	return true
}

// matchesIDs says whether the ids of a group match; those of any do if the
// matcher is about another label.
func (m Matcher) matchesIDs(g group) bool {
	if m.namesID() || m.op == MatchNotEqual && m.namesSpan() {
		return g.belongsTo(m.value, m.key) == (m.op == MatchEqual)
	}
	switch m.label {
	case profileIDLabel:
		return m.matches(g.profileID())
	case spanIDLabel:
		return m.matches(g.spanID())
	case traceIDLabel:
		return m.matches(g.traceID())
	default:
		return true
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
