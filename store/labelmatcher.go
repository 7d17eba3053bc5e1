// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// labelMatcher applies the matchers of one query to groups.
type labelMatcher struct {
	matchers []Matcher
	// sets remembers the answer for a label set: windows share them.
	sets map[*labelSet]bool
}

func (m *labelMatcher) matches(g *group) bool {
	for _, matcher := range m.matchers {
		if !matcher.matchesIDs(g) {
			return false
		}
	}
	matched, ok := m.sets[g.labels]
	if !ok {
		matched = m.matchesSet(g.labels)
		m.sets[g.labels] = matched
	}
	return matched
}

func (m *labelMatcher) matchesSet(s *labelSet) bool {
	for _, matcher := range m.matchers {
		if !matcher.onID() && !matcher.matches(s.get(matcher.label)) {
			return false
		}
	}
	return true
}

// matchesIDs says whether the ids of a group match; those of any do if the
// matcher is about another label.
func (m Matcher) matchesIDs(g *group) bool {
	if m.namesID() || m.op == MatchNotEqual && m.namesSpan() {
		belongs := g.profileID == m.value || g.spanID == m.value
		return belongs == (m.op == MatchEqual)
	}
	switch m.label {
	case profileIDLabel:
		return m.matches(g.profileID)
	case spanIDLabel:
		return m.matches(g.spanID)
	case traceIDLabel:
		return m.matches(g.traceID)
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
