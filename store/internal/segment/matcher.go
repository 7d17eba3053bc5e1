// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// Op compares a label with the value of a Matcher.
type Op int

// The operators. A label that is absent has the value "".
const (
	Equal Op = iota
	NotEqual
	Regexp
	NotRegexp
)

const (
	attributePrefix = "span."
	inSpanName      = "in_span_name"
	serviceName     = "service_name"
	serviceVersion  = "service_version"
)

// Matcher is a condition on a label, or on an attribute of a span if the label begins with
// "span.". The label in_span_name selects spans of a name and all spans below them.
type Matcher struct {
	Label, Value string
	Op           Op
	re           *regexp.Regexp
	// list has the values of an expression that is a list, nil for another.
	list map[string]bool
}

// meta are the characters that make an expression more than a list.
const meta = `\.+*?()[]{}^$`

// NewMatcher returns a matcher. Expressions are RE2 and match the whole value.
func NewMatcher(label string, op Op, value string) (Matcher, error) {
	m := Matcher{Label: label, Value: value, Op: op}
	switch op {
	case Equal, NotEqual:
	case Regexp, NotRegexp:
		if !strings.ContainsAny(value, meta) {
			m.list = make(map[string]bool)
			for v := range strings.SplitSeq(value, "|") {
				m.list[v] = true
			}
			break
		}
		var err error
		if m.re, err = regexp.Compile("^(?s:" + value + ")$"); err != nil {
			return m, fmt.Errorf("the matcher of %s: %w", label, err)
		}
	default:
		return m, fmt.Errorf("the matcher of %s: unknown operator %d", label, op)
	}
	return m, nil
}

// Matches reports whether a value meets the condition.
func (m *Matcher) Matches(value string) bool {
	switch {
	case m.re != nil:
		return m.re.MatchString(value) == (m.Op == Regexp)
	case m.list != nil:
		return m.list[value] == (m.Op == Regexp)
	}
	return (value == m.Value) == (m.Op == Equal)
}

// matchesAny reports whether one of several values meets the condition, or all if it is a
// negative one. Without values, "" counts.
func (m *Matcher) matchesAny(values []string) bool {
	if len(values) == 0 {
		return m.Matches("")
	}
	if m.Op == NotEqual || m.Op == NotRegexp {
		return !slices.ContainsFunc(values, func(v string) bool { return !m.Matches(v) })
	}
	return slices.ContainsFunc(values, m.Matches)
}

// onSpan reports whether the condition is about the span of a row.
func (m *Matcher) onSpan() bool {
	return m.Label == inSpanName || strings.HasPrefix(m.Label, attributePrefix)
}

func (m *Matcher) onID() bool {
	switch m.Label {
	case labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID, labelkey.EndedSpanID:
		return true
	}
	return false
}

func (m *Matcher) onService() bool { return m.Label == serviceName || m.Label == serviceVersion }

// lists reports whether the condition lists ids or is about spans. Only such questions
// reach the kept segment.
func (m *Matcher) lists() bool {
	positive := m.Op == Equal && m.Value != "" || m.Op == Regexp && m.list != nil && !m.list[""]
	return m.onSpan() || m.onID() && positive
}

// passes evaluates the matchers for the groups of a segment. services are the matchers on
// the service, which depend on the window.
func (v *View) passes(s *Segment, matchers []Matcher, spans func(*Matcher) map[ident.Key]bool) (pass []bool, services []*Matcher) {
	labelled := make([]bool, len(s.groups.labellings.list))
	for i := range labelled {
		labelled[i] = true
	}
	var ids []*Matcher
	for i := range matchers {
		m := &matchers[i]
		switch {
		case m.onService():
			services = append(services, m)
		case m.onID() || m.onSpan():
			ids = append(ids, m)
		default:
			for l, of := range s.groups.labellings.list {
				labelled[l] = labelled[l] && m.Matches(s.value(of.set, m.Label))
			}
		}
	}
	pass = make([]bool, len(s.groups.ids))
	for g := range pass {
		pass[g] = labelled[s.groups.labelling(uint32(g))]
	}
	for _, m := range ids {
		match := s.matchID(m)
		if m.onSpan() {
			of := spans(m)
			match = func(g uint32) bool {
				profile, span := s.idsIn(g)
				return of[profile] || of[span]
			}
		}
		for g := range pass {
			pass[g] = pass[g] && match(uint32(g))
		}
	}
	return pass, services
}

// matchID returns a function that evaluates a condition on an id. An equality matcher on
// profile_id or span_id matches a group if either label has the value.
func (s *Segment) matchID(m *Matcher) func(uint32) bool {
	if (m.Op == Equal || m.Op == NotEqual) && m.Value != "" && (m.Label == labelkey.ProfileID || m.Label == labelkey.SpanID) {
		key := ident.ParseKey(m.Value)
		return func(g uint32) bool {
			equal := key != 0 && s.groups.ids[g].span == key
			switch s.groups.form(g) {
			case none:
				equal = false
			case odd:
				of := s.groups.odd.list[s.groups.ids[g].span]
				equal = s.texts.list[of.profile] == m.Value || s.texts.list[of.span] == m.Value
			}
			return equal == (m.Op == Equal)
		}
	}
	return func(g uint32) bool { return m.Matches(s.label(g, m.Label)) }
}

// onWindow evaluates matchers on the service for the labellings of a window. A label of
// the rows themselves has precedence.
func (s *Segment) onWindow(w *window, services []*Matcher) (pass []bool) {
	if len(services) == 0 {
		return nil
	}
	pass = make([]bool, len(s.groups.labellings.list))
	for l, of := range s.groups.labellings.list {
		pass[l] = true
		for _, m := range services {
			value := s.value(of.set, m.Label)
			if value == "" {
				value = w.resource(m.Label)
			}
			pass[l] = pass[l] && m.Matches(value)
		}
	}
	return pass
}

// resource returns the service or its version.
func (w *window) resource(label string) string {
	switch label {
	case serviceName:
		return w.service
	case serviceVersion:
		return w.version
	}
	return ""
}

// spansOf returns the spans with a record that meet a condition on spans.
func (v *View) spansOf(m *Matcher) map[ident.Key]bool {
	ids := make(map[ident.Key]bool)
	if m.Label == inSpanName {
		v.below(m, ids)
		return ids
	}
	key := strings.TrimPrefix(m.Label, attributePrefix)
	for _, s := range v.all() {
		matches := make(map[uint32]bool) // by attributes
		for i := range s.spans.list {
			r := &s.spans.list[i]
			if r.child {
				continue
			}
			is, ok := matches[r.attributes]
			if !ok {
				is = m.matchesAny(v.values(s.spans.texts.list[r.attributes], key))
				matches[r.attributes] = is
			}
			if is {
				ids[r.id] = true
			}
		}
	}
	return ids
}

// values returns the values of an attribute in a set.
func (v *View) values(set, key string) (values []string) {
	if v.keys == nil || set == "" {
		return nil
	}
	for e := range v.keys.All(set) {
		if !e.More && e.Key == key {
			values = append(values, e.Value)
		}
	}
	return values
}

// below adds the spans of a name, and all spans below them in this process.
func (v *View) below(m *Matcher, ids map[ident.Key]bool) {
	parents := make(map[ident.Key]*record)
	for _, s := range v.all() {
		for i := range s.spans.list {
			r := &s.spans.list[i]
			parents[r.id] = r
			if m.Matches(s.spans.texts.list[r.name]) {
				ids[r.id] = true
			}
		}
	}
	for id, r := range parents {
		var way []ident.Key
		for depth := 0; r != nil && !ids[r.id] && depth < maxDepth; depth++ {
			way = append(way, r.id)
			if r.localRoot {
				r = nil
				break
			}
			r = parents[r.parent]
		}
		if r != nil && ids[r.id] {
			for _, of := range way {
				ids[of] = true
			}
			ids[id] = true
		}
	}
}

// maxDepth bounds the way from a span to its local root.
const maxDepth = 100
