// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/literal"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// Op compares a label with the value of a condition.
type Op int

// The operators. A label that a sample lacks has the value "".
const (
	Equal Op = iota
	NotEqual
	Regexp
	NotRegexp
)

// Condition is a condition on one label. The zero Condition matches every sample.
type Condition struct {
	label string
	op    Op
	value string
	// A regular expression is one of these: a list of values, or any other.
	literals *literal.Set
	re       *regexp.Regexp
	// instructions is the length of re as a program.
	instructions int
	// key is value if that is the id of a span, trace if it is the id of a trace.
	key   ident.Key
	trace trace.TraceID
}

// maxIDProgram bounds the instructions of a regular expression on ids, each of
// which may run for each byte of each id: 100 of them take some seconds for the
// 650,000 ids of a full store.
const maxIDProgram = 100

// maxExpression bounds the bytes of a regular expression that is no list of values. The
// worst of that length compiles to 150,000 instructions, some MB; each further byte to 140.
const maxExpression = 1024

// NewCondition returns a condition. The error says what is wrong with the
// expression, or that there is no such operator.
func NewCondition(label string, op Op, value string) (Condition, error) {
	c := Condition{label: label, op: op, value: value, key: ident.ParseKey(value)}
	if c.InSpan() && (op != Equal || value == "") {
		return Condition{}, fmt.Errorf("label %s: it can only be compared by = with the name of a span", label)
	}
	switch op {
	case Equal, NotEqual:
		if label == labelkey.TraceID {
			// It stays zero for what is no id.
			c.trace, _ = trace.TraceIDFromHex(value)
		}
		return c, nil
	case Regexp, NotRegexp:
	default:
		return Condition{}, fmt.Errorf("label %s: unknown operator %d", label, op)
	}
	if c.literals = literal.Parse(value); c.literals != nil {
		return c, nil
	}
	if len(value) > maxExpression {
		return Condition{}, fmt.Errorf("label %s: an expression of %d bytes, and %d are tried at most: make it shorter, or list the values as a|b|c", label, len(value), maxExpression)
	}
	// First by itself, so that it cannot end the group around it.
	_, err := regexp.Compile(value)
	if err == nil {
		// The group can be one too deep, or swallowed by an open \Q.
		c.re, err = regexp.Compile("^(?s:" + value + ")$")
	}
	if err != nil {
		return Condition{}, fmt.Errorf("label %s: %w", label, err)
	}
	c.instructions = programLen(value)
	_, onAttribute := c.Attribute()
	if !c.onID() && !onAttribute {
		return c, nil
	}
	if n := c.instructions; n > maxIDProgram {
		what := "ids"
		if onAttribute {
			what = "attributes"
		}
		return Condition{}, fmt.Errorf("label %s: an expression of %d instructions, and %s take %d at most: make it shorter, or list the values as a|b|c", label, n, what, maxIDProgram)
	}
	return c, nil
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

// AttributePrefix begins the label of a condition on an attribute of spans.
const AttributePrefix = "span."

// inSpanName is what a condition has for a label that is about the span of a sample and all
// spans above it.
const inSpanName = "in_span_name"

// InSpan reports whether the condition is that a sample's span, or one above it, has a name.
func (c Condition) InSpan() bool { return c.label == inSpanName }

// Attribute returns the key of the attribute that the condition is about.
func (c Condition) Attribute() (key string, ok bool) {
	return strings.CutPrefix(c.label, AttributePrefix)
}

// Expression reports whether the condition is a regular expression that is no list of
// values.
func (c Condition) Expression() bool { return c.re != nil }

// Instructions returns how many instructions an expression is compiled to: each may run
// for each byte of a value.
func (c *Condition) Instructions() int { return c.instructions }

// OnID reports whether the condition is about an id.
func (c *Condition) OnID() bool { return c.onID() }

// Label returns the name of the label.
func (c Condition) Label() string { return c.label }

// Op returns the operator.
func (c Condition) Op() Op { return c.op }

// Value returns what the label is compared with.
func (c Condition) Value() string { return c.value }

// ListsIDs reports whether the condition lists the ids of what matches: as one value
// of profile_id, span_id, trace_id or ended_span_id, or as a regular expression that is a list of
// them. A sample without the label never matches it.
func (c Condition) ListsIDs() bool {
	switch {
	case !c.onID():
		return false
	case c.op == Regexp:
		return c.literals != nil && !c.literals.Has("")
	default:
		return c.op == Equal && c.value != ""
	}
}

func (c *Condition) matches(value string) bool {
	switch {
	case c.op == Equal || c.op == NotEqual:
		return (value == c.value) == (c.op == Equal)
	case c.literals != nil:
		return c.literals.Has(value) == (c.op == Regexp)
	default:
		return c.re.MatchString(value) == (c.op == Regexp)
	}
}

// MatchesAll reports whether the values of one attribute meet the condition: one of them
// or, where the condition says what must not be, each. Without any, "" is the value.
func (c *Condition) MatchesAll(values []string) bool { return c.matchesAll(values, c.matches) }

// matchesAll is MatchesAll, with what says whether one value meets the condition.
func (c *Condition) matchesAll(values []string, matches func(string) bool) bool {
	if len(values) == 0 {
		return matches("")
	}
	if c.op == NotEqual || c.op == NotRegexp {
		return !slices.ContainsFunc(values, func(v string) bool { return !matches(v) })
	}
	return slices.ContainsFunc(values, matches)
}

// matchesID reports whether the ids of a group match a condition on an id. There are as many
// groups as spans, so that no id is written into memory of its own.
func (f *Filter) matchesID(c *remembered, g samples.Group) bool {
	if c.onSpan() && c.value != "" && (c.op == Equal || c.op == NotEqual) {
		return g.BelongsTo(c.value, c.key) == (c.op == Equal)
	}
	if c.trace.IsValid() {
		return g.InTrace(c.value, c.trace) == (c.op == Equal)
	}
	if c.literals != nil && c.label != labelkey.TraceID {
		if key := c.keyOf(g); key != 0 {
			return c.literals.HasKey(key) == (c.op == Regexp)
		}
	}
	if c.re != nil {
		return c.tried.group(g, func() bool { return f.triesID(&c.Condition, g) })
	}
	return f.triesID(&c.Condition, g)
}

// triesID is matchesID by the text of the id.
func (f *Filter) triesID(c *Condition, g samples.Group) bool {
	f.text = g.AppendID(f.text[:0], c.label)
	switch {
	case c.op == Equal || c.op == NotEqual:
		return (string(f.text) == c.value) == (c.op == Equal)
	case c.literals != nil:
		return c.literals.HasBytes(f.text) == (c.op == Regexp)
	default:
		return c.re.Match(f.text) == (c.op == Regexp)
	}
}

// keyOf returns the span that the id of a group names, 0 for none.
func (c *Condition) keyOf(g samples.Group) ident.Key {
	profile, span := g.Spans()
	switch c.label {
	case labelkey.SpanID:
		return span
	case labelkey.EndedSpanID:
		return g.Ended()
	}
	return profile
}

// namesID reports whether only what belongs to one span or exemplar matches.
func (c Condition) namesID() bool { return c.op == Equal && c.value != "" && c.onSpan() }

// namesEnded reports whether only what was taken after the end of one span matches.
func (c Condition) namesEnded() bool {
	return c.op == Equal && c.key != 0 && c.label == labelkey.EndedSpanID
}

func (c *Condition) onSpan() bool {
	return c.label == labelkey.ProfileID || c.label == labelkey.SpanID
}

func (c *Condition) onID() bool {
	return c.onSpan() || c.label == labelkey.TraceID || c.label == labelkey.EndedSpanID
}
