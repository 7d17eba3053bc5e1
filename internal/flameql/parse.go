// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flameql

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spanprof/spanprof/store"
)

// Operators are the spellings of store.MatchOp.
var Operators = map[store.MatchOp]string{
	store.MatchEqual:     "=",
	store.MatchNotEqual:  "!=",
	store.MatchRegexp:    "=~",
	store.MatchNotRegexp: "!~",
}

const spaces = " \t\r\n"

const (
	// MaxBytes and maxMatchers bound what a query costs: each condition is
	// tried on every set of labels. The list of spans sends some hundred
	// ids in one expression.
	MaxBytes    = 16 << 10
	maxMatchers = 32
)

// SyntaxError describes what is wrong with a query, and where.
type SyntaxError struct {
	// Column counts characters from 1.
	Column int
	msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("flameql: column %d: %s", e.Column, e.msg)
}

// Parse parses a query. Its error is a *SyntaxError.
func Parse(text string) (Query, error) {
	p := parser{text: text}
	return p.query()
}

// parser reads a query once from left to right.
type parser struct {
	text string
	pos  int
}

func (p *parser) query() (Query, error) {
	if len(p.text) > MaxBytes {
		p.pos = MaxBytes
		return Query{}, p.fail(fmt.Sprintf("a query has at most %d bytes, this one %d", MaxBytes, len(p.text)))
	}
	end := strings.IndexByte(p.text, '{')
	if end < 0 {
		end = len(p.text)
	}
	q, err := p.name(end)
	if err != nil {
		return Query{}, err
	}
	p.pos = end
	if p.pos == len(p.text) {
		return q, nil
	}
	p.pos++ // The opening brace.
	for {
		p.space()
		if p.skip("}") {
			break
		}
		if len(q.Matchers) == maxMatchers {
			return Query{}, p.fail(fmt.Sprintf("a query has at most %d conditions: join those on one label in an expression such as span_name!~\"a|b\"", maxMatchers))
		}
		m, err := p.matcher()
		if err != nil {
			return Query{}, err
		}
		q.Matchers = append(q.Matchers, m)
		p.space()
		if !p.skip(",") && p.peek() != '}' {
			return Query{}, p.expected(`"," or "}"`)
		}
	}
	p.space()
	if p.pos != len(p.text) {
		return Query{}, p.expected("the end of the query")
	}
	return q, nil
}

// name parses the text before the braces: app.type, .type, type, app or
// nothing. Names of applications have dots, so only the text after the last dot
// is the type.
func (p *parser) name(end int) (Query, error) {
	name := strings.TrimRight(p.text[:end], spaces)
	if t, ok := typeByPyroscopeID(strings.TrimLeft(name, spaces)); ok {
		return Query{Type: t}, nil
	}
	if end == len(p.text) && strings.ContainsAny(name, "\"`") { // accepted, it would answer for the whole process
		return Query{}, p.fail("conditions are in braces, as in .cpu{span_name=\"NAME\"}: curl removes { and }: use -g or --data-urlencode")
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		name = strings.TrimLeft(name, spaces)
		if t, ok := TypeByName(name); ok {
			return Query{Type: t}, nil
		}
		if strings.Count(name, ":") == 4 { // of Pyroscope
			return Query{}, p.fail(fmt.Sprintf("unknown profile type %q: the name must end in one of %s", name, typeNames()))
		}
		return Query{App: name, Type: CPU}, nil
	}
	t, ok := TypeByName(name[dot+1:])
	if !ok {
		p.pos = dot + 1
		return Query{}, p.fail(fmt.Sprintf("unknown profile type %q: the name must end in one of %s", name[dot+1:], typeNames()))
	}
	return Query{App: strings.Trim(name[:dot], spaces), Type: t}, nil
}

func (p *parser) matcher() (store.Matcher, error) {
	label := p.label()
	if label == "" {
		return store.Matcher{}, p.expected(`a label name or "}"`)
	}
	p.space()
	var op store.MatchOp
	switch {
	case p.skip("=~"):
		op = store.MatchRegexp
	case p.skip("!~"):
		op = store.MatchNotRegexp
	case p.skip("!="):
		op = store.MatchNotEqual
	case p.skip("="):
		op = store.MatchEqual
	default:
		return store.Matcher{}, p.expected("one of = != =~ !~")
	}
	p.space()
	start := p.pos
	value, err := p.value()
	if err != nil {
		return store.Matcher{}, err
	}
	m, err := store.NewMatcher(label, op, value)
	if err != nil {
		p.pos = start
		return store.Matcher{}, p.fail(err.Error())
	}
	return m, nil
}

// label accepts any text that is distinct from the text after it: the keys
// of pprof labels are not limited to identifiers.
func (p *parser) label() string {
	n := strings.IndexAny(p.text[p.pos:], "=!~,{}\"`"+spaces)
	if n < 0 {
		n = len(p.text) - p.pos
	}
	label := p.text[p.pos : p.pos+n]
	p.pos += n
	return label
}

func (p *parser) value() (string, error) {
	if c := p.peek(); c != '"' && c != '`' {
		return "", p.expected("a value in double quotes or backquotes")
	}
	quoted, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		return "", p.fail("the quoted value does not end, or has an unknown escape")
	}
	p.pos += len(quoted)
	return strconv.Unquote(quoted)
}

func (p *parser) space() {
	p.pos = len(p.text) - len(strings.TrimLeft(p.text[p.pos:], spaces))
}

func (p *parser) skip(token string) bool {
	if !strings.HasPrefix(p.text[p.pos:], token) {
		return false
	}
	p.pos += len(token)
	return true
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) expected(what string) error {
	return p.fail("expected " + what)
}

func (p *parser) fail(msg string) error {
	return &SyntaxError{Column: utf8.RuneCountInString(p.text[:p.pos]) + 1, msg: msg}
}
