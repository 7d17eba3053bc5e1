// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// idLabels are the labels that single out one span or one trace. A baseline is
// a query without them.
var idLabels = []string{labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID}

// flameQL is a parsed query: app.type{label="value",...}. Doc.go has the
// grammar.
type flameQL struct {
	app      string
	typ      profileType
	matchers []store.Matcher
}

// String returns the canonical form, which parses to the same query.
func (q flameQL) String() string {
	var b strings.Builder
	b.WriteString(q.app)
	b.WriteByte('.')
	b.WriteString(q.typ.name)
	b.WriteByte('{')
	for i, m := range q.matchers {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m.Label())
		b.WriteString(operators[m.Op()])
		b.WriteString(strconv.Quote(m.Value()))
	}
	b.WriteByte('}')
	return b.String()
}

// value returns what the query wants label to be equal to.
func (q flameQL) value(label string) (string, bool) {
	for _, m := range q.matchers {
		if m.Label() == label && m.Op() == store.MatchEqual {
			return m.Value(), true
		}
	}
	return "", false
}

// spanID returns the one profile that the query asks for by id.
func (q flameQL) spanID() (string, bool) {
	if id, ok := q.value(labelkey.ProfileID); ok {
		return id, true
	}
	return q.value(labelkey.SpanID)
}

// idExpressions returns how many conditions are to be tried on each id.
func (q flameQL) idExpressions() (n int) {
	for _, m := range q.matchers {
		expression := m.Op() == store.MatchRegexp || m.Op() == store.MatchNotRegexp
		if expression && slices.Contains(idLabels, m.Label()) && !m.ListsIDs() {
			n++
		}
	}
	return n
}

// with returns the query with one more condition.
func (q flameQL) with(label, value string) flameQL {
	// An equality has no expression that could be wrong.
	m, _ := store.NewMatcher(label, store.MatchEqual, value)
	q.matchers = append(slices.Clip(q.matchers), m)
	return q
}

// without returns the query without the conditions on labels.
func (q flameQL) without(labels ...string) flameQL {
	var kept []store.Matcher
	for _, m := range q.matchers {
		if !slices.Contains(labels, m.Label()) {
			kept = append(kept, m)
		}
	}
	q.matchers = kept
	return q
}

// newFlameQL returns the query for the CPU of a service. A name that FlameQL
// cannot spell is left out: the query then means every service.
func newFlameQL(service string) flameQL {
	if strings.Contains(service, "{") || strings.TrimSpace(service) != service {
		service = ""
	}
	return flameQL{app: service, typ: profileTypes[0]}
}
