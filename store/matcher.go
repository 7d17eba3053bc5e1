// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"regexp"
)

// Matcher is one condition on the labels of a sample; NewMatcher makes it. The
// zero Matcher matches every sample.
type Matcher struct {
	label string
	op    MatchOp
	value string
	re    *regexp.Regexp
	// key is value if that is the id of a span.
	key spanKey
}

// NewMatcher returns a condition on a label. Regular expressions are RE2 and
// match the whole value, as they do in PromQL. The error says what is wrong
// with the expression, or that there is no such operator.
func NewMatcher(label string, op MatchOp, value string) (Matcher, error) {
	m := Matcher{label: label, op: op, value: value, key: parseSpanKey(value)}
	switch op {
	case MatchEqual, MatchNotEqual:
		return m, nil
	case MatchRegexp, MatchNotRegexp:
	default:
		return Matcher{}, fmt.Errorf("label %s: unknown operator %d", label, op)
	}
	// First by itself, so that it cannot end the group around it.
	_, err := regexp.Compile(value)
	if err == nil {
		// The group can be one too deep, or swallowed by an open \Q.
		m.re, err = regexp.Compile("^(?s:" + value + ")$")
	}
	if err != nil {
		return Matcher{}, fmt.Errorf("label %s: %w", label, err)
	}
	return m, nil
}

// Label returns the name of the label.
func (m Matcher) Label() string { return m.label }

// Op returns the operator.
func (m Matcher) Op() MatchOp { return m.op }

// Value returns what the label is compared with.
func (m Matcher) Value() string { return m.value }

func (m Matcher) matches(value string) bool {
	switch m.op {
	case MatchEqual:
		return value == m.value
	case MatchNotEqual:
		return value != m.value
	case MatchRegexp:
		return m.re.MatchString(value)
	default:
		return !m.re.MatchString(value)
	}
}
