// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

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
	serviceName     = "service_name"
	serviceVersion  = "service_version"
)

// Matcher is a condition on a label, or on an attribute of a span if the label begins with
// "span.".
type Matcher struct {
	label, value string
	op           Op
	re           *regexp.Regexp
	// list has the values of an expression that is a list, nil for another.
	list map[string]bool
}

// maxExpression bounds the bytes of a regular expression that is no list of values.
const maxExpression = 1024

// NewMatcher returns a matcher. Expressions are RE2 and match the whole value. A list of
// values, a|b|c, may have any length.
func NewMatcher(label string, op Op, value string) (Matcher, error) {
	m := Matcher{label: label, value: value, op: op}
	switch {
	case op == Equal || op == NotEqual:
		return m, nil
	case op != Regexp && op != NotRegexp:
		return Matcher{}, fmt.Errorf("label %s: unknown operator %d", label, op)
	}
	if m.list = parseList(value); m.list != nil {
		return m, nil
	}
	if len(value) > maxExpression {
		return Matcher{}, fmt.Errorf("label %s: an expression of %d bytes, and the limit is %d: make it shorter, or list the values as a|b|c", label, len(value), maxExpression)
	}
	_, err := regexp.Compile(value) // alone first, so that it cannot end the group around it
	if err == nil {
		m.re, err = regexp.Compile("^(?s:" + value + ")$")
	}
	if err != nil {
		return Matcher{}, fmt.Errorf("label %s: %w", label, err)
	}
	return m, nil
}

// parseList returns the values of an expression without operators except |, nil for another.
func parseList(expression string) map[string]bool {
	if !utf8.ValidString(expression) || strings.ContainsAny(expression, `\.+*?()[]{}^$`) {
		return nil
	}
	list := make(map[string]bool)
	for value := range strings.SplitSeq(expression, "|") {
		list[value] = true
	}
	return list
}

// Label returns the name of the label.
func (m Matcher) Label() string { return m.label }

// Op returns the operator.
func (m Matcher) Op() Op { return m.op }

// Value returns what the label is compared with.
func (m Matcher) Value() string { return m.value }

// Matches reports whether a value meets the condition.
func (m Matcher) Matches(value string) bool {
	switch {
	case m.re != nil:
		return m.re.MatchString(value) == (m.op == Regexp)
	case m.list != nil:
		return m.list[value] == (m.op == Regexp)
	}
	return (value == m.value) == (m.op == Equal)
}

// matchesAny reports whether one of several values meets the condition, or all if it is a
// negative one. Without values, "" counts.
func (m Matcher) matchesAny(values []string) bool {
	if len(values) == 0 {
		return m.Matches("")
	}
	if m.op == NotEqual || m.op == NotRegexp {
		return !slices.ContainsFunc(values, func(v string) bool { return !m.Matches(v) })
	}
	return slices.ContainsFunc(values, m.Matches)
}

// OnSpan reports whether the condition is about the span of a row.
func (m Matcher) OnSpan() bool { return strings.HasPrefix(m.label, attributePrefix) }

func isID(label string) bool {
	switch label {
	case labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID, labelkey.EndedSpanID:
		return true
	}
	return false
}

// ListsIDs reports whether the condition lists ids. Rows without the label never match.
func (m Matcher) ListsIDs() bool {
	return isID(m.label) && (m.op == Equal && m.value != "" || m.op == Regexp && m.list != nil && !m.list[""])
}

// match is the groups of a segment that matchers select, all if is is nil. first and last bound
// them.
type match struct {
	is          []bool
	first, last int
}

func newMatch(s *Segment, groups iter.Seq[uint32]) *match {
	m := &match{is: make([]bool, len(s.groups.list)), first: math.MaxInt, last: -1}
	for g := range groups {
		m.is[g], m.first, m.last = true, min(m.first, int(g)), max(m.last, int(g))
	}
	return m
}

// match evaluates matchers for the groups of a segment, with the service of a window. A
// label of the rows themselves has precedence.
func (v *View) match(ctx context.Context, s *Segment, w *window, matchers []Matcher, spans func(*Matcher) map[ident.Key]bool) *match {
	labels := make([]bool, len(s.sets.list))
	for i := range labels {
		labels[i] = true
	}
	var ids []func(uint32) bool
	some := func(yield func(uint32) bool) { // the groups to look at
		for g := uint32(0); g < uint32(len(s.groups.list)) && yield(g); g++ {
		}
	}
	for i := range matchers {
		of := &matchers[i]
		switch {
		case of.OnSpan():
			named := spans(of)
			ids = append(ids, func(g uint32) bool {
				profile, span := s.idsIn(g)
				return named[profile] || named[span]
			})
		case isID(of.label):
			ids = append(ids, s.matchID(of))
			if groups := s.groupsWith(of); groups != nil {
				some = slices.Values(groups)
			}
		default:
			absent := w.resourceLabel(of.label)
			for set := range labels {
				labels[set] = labels[set] && of.Matches(cmp.Or(s.value(uint32(set), of.label), absent))
			}
		}
	}
	if len(matchers) == 0 {
		return &match{last: math.MaxInt}
	}
	return newMatch(s, func(yield func(uint32) bool) {
		for g := range some {
			if labels[s.groups.list[g].set] && !slices.ContainsFunc(ids, func(is func(uint32) bool) bool { return !is(g) }) && !yield(g) ||
				g%1024 == 1023 && ctx.Err() != nil {
				return
			}
		}
	})
}

// groupsWith returns the groups of all spans that a condition lists, nil if it lists none.
func (s *Segment) groupsWith(m *Matcher) []uint32 {
	if !m.ListsIDs() || m.label != labelkey.ProfileID && m.label != labelkey.SpanID {
		return nil
	}
	values := m.list
	if m.op == Equal {
		values = map[string]bool{m.value: true}
	}
	groups := []uint32{}
	for value := range values {
		key := ident.ParseKey(value)
		if key == 0 {
			return nil
		}
		for g := range s.index.each(s, key) {
			groups = append(groups, g)
		}
	}
	return groups
}

// matchID returns a function that evaluates a condition on an id. An equality matcher on
// profile_id or span_id matches a group if either label has the value.
func (s *Segment) matchID(m *Matcher) func(uint32) bool {
	equality := m.op == Equal || m.op == NotEqual
	either := equality && m.value != "" && (m.label == labelkey.ProfileID || m.label == labelkey.SpanID)
	of, _ := trace.TraceIDFromHex(m.value) // zero if it is none
	return func(g uint32) bool {
		switch {
		case either:
			return (s.label(g, labelkey.ProfileID) == m.value || s.label(g, labelkey.SpanID) == m.value) == (m.op == Equal)
		case m.label == labelkey.TraceID && equality && of.IsValid() && !s.groups.list[g].odd:
			return (s.groups.list[g].trace == of) == (m.op == Equal)
		}
		return m.Matches(s.label(g, m.label))
	}
}

// resourceLabel returns the service or its version.
func (w *window) resourceLabel(label string) string {
	switch label {
	case serviceName:
		return w.name()
	case serviceVersion:
		return w.release()
	}
	return ""
}
