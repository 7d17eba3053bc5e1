// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spanprof/spanprof/store"
)

// operators are the spellings of store.MatchOp.
var operators = map[store.MatchOp]string{
	store.MatchEqual:     "=",
	store.MatchNotEqual:  "!=",
	store.MatchRegexp:    "=~",
	store.MatchNotRegexp: "!~",
}

const flameQLSpace = " \t\r\n"

const (
	// maxQueryBytes and maxMatchers bound what a query costs: each of its
	// conditions is held against every set of labels. The page of a list asks
	// for some hundred ids in one expression.
	maxQueryBytes = 16 << 10
	maxMatchers   = 32
	// maxIDExpressions bounds those of the conditions that are tried on each id.
	maxIDExpressions = 2
)

// parseFlameQL parses a query. Its error is a *syntaxError.
func parseFlameQL(text string) (flameQL, error) {
	p := flameQLParser{text: text}
	return p.query()
}

// flameQLParser walks a query once from left to right.
type flameQLParser struct {
	text string
	pos  int
}

func (p *flameQLParser) query() (flameQL, error) {
	if len(p.text) > maxQueryBytes {
		p.pos = maxQueryBytes
		return flameQL{}, p.fail(fmt.Sprintf("a query has at most %d bytes, this one %d", maxQueryBytes, len(p.text)))
	}
	end := strings.IndexByte(p.text, '{')
	if end < 0 {
		end = len(p.text)
	}
	q, err := p.name(end)
	if err != nil {
		return flameQL{}, err
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
		if len(q.matchers) == maxMatchers {
			return flameQL{}, p.fail(fmt.Sprintf("a query has at most %d conditions: join those on one label in an expression such as span_name!~\"a|b\"", maxMatchers))
		}
		start := p.pos
		m, err := p.matcher()
		if err != nil {
			return flameQL{}, err
		}
		q.matchers = append(q.matchers, m)
		if q.idExpressions() > maxIDExpressions {
			p.pos = start
			return flameQL{}, p.fail(fmt.Sprintf("a query has at most %d expressions on ids, but for lists such as profile_id=~\"a|b\"", maxIDExpressions))
		}
		p.space()
		if !p.skip(",") && p.peek() != '}' {
			return flameQL{}, p.expected(`"," or "}"`)
		}
	}
	p.space()
	if p.pos != len(p.text) {
		return flameQL{}, p.expected("the end of the query")
	}
	return q, nil
}

// name parses what stands before the braces: app.type, .type, type, app or
// nothing. Names of applications have dots, so only what follows the last one
// is the type.
func (p *flameQLParser) name(end int) (flameQL, error) {
	name := strings.TrimRight(p.text[:end], flameQLSpace)
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		name = strings.TrimLeft(name, flameQLSpace)
		if t, ok := profileTypeByName(name); ok {
			return flameQL{typ: t}, nil
		}
		return flameQL{app: name, typ: profileTypes[0]}, nil
	}
	t, ok := profileTypeByName(name[dot+1:])
	if !ok {
		p.pos = dot + 1
		return flameQL{}, p.fail(fmt.Sprintf("unknown profile type %q: the name must end in one of %s", name[dot+1:], profileTypeNames()))
	}
	return flameQL{app: strings.Trim(name[:dot], flameQLSpace), typ: t}, nil
}

func (p *flameQLParser) matcher() (store.Matcher, error) {
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

// label takes any text that cannot be mistaken for what follows it: the keys
// of pprof labels are not limited to identifiers.
func (p *flameQLParser) label() string {
	n := strings.IndexAny(p.text[p.pos:], "=!~,{}\"`"+flameQLSpace)
	if n < 0 {
		n = len(p.text) - p.pos
	}
	label := p.text[p.pos : p.pos+n]
	p.pos += n
	return label
}

func (p *flameQLParser) value() (string, error) {
	if c := p.peek(); c != '"' && c != '`' {
		return "", p.expected("a value in double quotes or backquotes")
	}
	quoted, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		return "", p.fail("the quoted value does not end, or has an unknown escape")
	}
	value, err := strconv.Unquote(quoted)
	if err != nil {
		return "", p.fail("the quoted value has an unknown escape")
	}
	p.pos += len(quoted)
	return value, nil
}

func (p *flameQLParser) space() {
	p.pos = len(p.text) - len(strings.TrimLeft(p.text[p.pos:], flameQLSpace))
}

func (p *flameQLParser) skip(token string) bool {
	if !strings.HasPrefix(p.text[p.pos:], token) {
		return false
	}
	p.pos += len(token)
	return true
}

// peek returns the next byte, or 0 at the end.
func (p *flameQLParser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *flameQLParser) expected(what string) error {
	return p.fail("expected " + what)
}

func (p *flameQLParser) fail(msg string) error {
	return &syntaxError{
		column: p.pos + 1,
		place:  utf8.RuneCountInString(p.text[:p.pos]) + 1,
		msg:    msg,
	}
}
