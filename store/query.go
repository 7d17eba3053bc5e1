// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/literal"
)

// MatchOp compares a sample's label with a Matcher's value.
type MatchOp int

// The operators of a Matcher. A label that a sample lacks has the value "".
const (
	MatchEqual MatchOp = iota
	MatchNotEqual
	MatchRegexp
	MatchNotRegexp
)

// Query selects samples.
type Query struct {
	// Kind selects the profiles' kind.
	Kind exporter.Kind
	// SampleType names the value to return, "cpu" or "alloc_space" say;
	// empty means the kind's default type.
	SampleType string
	// Matchers must all match a sample's labels. service_name and
	// service_version are those of the profile's resource where a sample has
	// no such label of its own. An equality matcher on
	// profile_id or span_id matches a sample where either label has the
	// value: a sample where they differ belongs to both. MatchNotEqual
	// matches where neither has it. The empty value asks about the one
	// label. Of a label with several values the first counts, and a number
	// compares as its decimal digits.
	Matchers []Matcher
	// From and Until select the windows that overlap [From, Until); a
	// zero time leaves that side open.
	From, Until time.Time
	// WithoutIDs leaves the labels profile_id, span_id and trace_id out of what
	// Profile returns: samples that differ in nothing else are summed. A
	// profile of many spans is much smaller that way.
	WithoutIDs bool
	// MaxSamples bounds the number of samples that Profile returns, which are
	// the different stacks with different labels: it fails with
	// ErrTooManySamples where there are more. 0 means no bound.
	MaxSamples int
}

// Matcher is one condition on the labels of a sample; NewMatcher makes it. The
// zero Matcher matches every sample.
type Matcher struct {
	label string
	op    MatchOp
	value string
	// An expression is either of them.
	re       *regexp.Regexp
	literals *literal.Set
	// key is value if that is the id of a span.
	key ident.Key
}

// maxIDProgram bounds the instructions of a regular expression on ids, each of
// which may run for each byte of each id: 100 of them take some seconds for the
// 650,000 ids of a full store.
const maxIDProgram = 100

// NewMatcher returns a condition on a label. Regular expressions are RE2 and
// match the whole value, as they do in PromQL. A list of values, a|b|c, may be of
// any length and is looked up at once; any other expression on an id must not be
// long, as it is tried on all ids. The error says what is wrong with the
// expression, or that there is no such operator.
func NewMatcher(label string, op MatchOp, value string) (Matcher, error) {
	m := Matcher{label: label, op: op, value: value, key: ident.ParseKey(value)}
	switch op {
	case MatchEqual, MatchNotEqual:
		return m, nil
	case MatchRegexp, MatchNotRegexp:
	default:
		return Matcher{}, fmt.Errorf("label %s: unknown operator %d", label, op)
	}
	if m.literals = literal.Parse(value); m.literals != nil {
		return m, nil
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
	if !m.onID() {
		return m, nil
	}
	if n := programLen(value); n > maxIDProgram {
		return Matcher{}, fmt.Errorf("label %s: an expression of %d instructions, and ids take %d at most: make it shorter, or list the ids as a|b|c", label, n, maxIDProgram)
	}
	return m, nil
}

// Label returns the name of the label.
func (m Matcher) Label() string { return m.label }

// Op returns the operator.
func (m Matcher) Op() MatchOp { return m.op }

// Value returns what the label is compared with.
func (m Matcher) Value() string { return m.value }

// ListsIDs says whether the matcher lists the ids of what matches: as one value of
// profile_id, span_id or trace_id, or as a regular expression that is a list of
// them. What lacks the label never matches it.
func (m Matcher) ListsIDs() bool {
	switch {
	case !m.onID():
		return false
	case m.op == MatchRegexp:
		return m.literals != nil && !m.literals.Has("")
	default:
		return m.op == MatchEqual && m.value != ""
	}
}

func (m Matcher) matches(value string) bool {
	switch m.op {
	case MatchEqual:
		return value == m.value
	case MatchNotEqual:
		return value != m.value
	case MatchRegexp:
		return m.matchesExpression(value)
	default:
		return !m.matchesExpression(value)
	}
}

func (m Matcher) matchesExpression(value string) bool {
	if m.literals != nil {
		return m.literals.Has(value)
	}
	return m.re.MatchString(value)
}

// programLen returns how many instructions a valid expression is compiled to.
func programLen(expression string) int {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}
