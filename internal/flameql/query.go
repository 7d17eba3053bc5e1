// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package flameql reads and writes FlameQL: queries such as
// shop.cpu{span_name="GET /search"}, which name an application, a profile type
// and conditions on the labels of samples. The documentation of package viewer
// has the grammar.
package flameql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// idLabels single out one span or one trace.
var idLabels = []string{labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID, labelkey.EndedSpanID}

// Query is a parsed query: App.Type{Matchers}. Its methods never change it.
type Query struct {
	App      string
	Type     Type
	Matchers []store.Matcher
}

// ForService returns the query for the CPU time of a service. FlameQL cannot
// spell every name: for such a service the query is about all services.
func ForService(service string) Query {
	if strings.Contains(service, "{") || strings.TrimSpace(service) != service {
		service = ""
	}
	return Query{App: service, Type: CPU}
}

// String returns the canonical form, which parses to the same query.
func (q Query) String() string {
	b := make([]byte, 0, 128) // On the stack, and enough for most queries.
	b = append(b, q.App...)
	b = append(b, '.')
	b = append(b, q.Type.Name...)
	b = append(b, '{')
	for i, m := range q.Matchers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.Label()...)
		b = append(b, Operators[m.Op()]...)
		b = strconv.AppendQuote(b, m.Value())
	}
	return string(append(b, '}'))
}

// Value returns the value that the query requires label to be equal to.
func (q Query) Value(label string) (string, bool) {
	for _, m := range q.Matchers {
		if m.Label() == label && m.Op() == store.MatchEqual {
			return m.Value(), true
		}
	}
	return "", false
}

// SpanID returns the id of the one span or exemplar that the query selects.
func (q Query) SpanID() (string, bool) {
	if id, ok := q.Value(labelkey.ProfileID); ok {
		return id, true
	}
	return q.Value(labelkey.SpanID)
}

// With returns the query with more conditions.
func (q Query) With(matchers ...store.Matcher) Query {
	q.Matchers = append(slices.Clip(q.Matchers), matchers...)
	return q
}

// WithEqual returns the query with the condition that label has the value.
func (q Query) WithEqual(label, value string) Query {
	// Only an expression can be invalid.
	m, _ := store.NewMatcher(label, store.MatchEqual, value)
	return q.With(m)
}

// OfType returns the query for profiles of another type.
func (q Query) OfType(t Type) Query {
	q.Type = t
	return q
}

// Without returns the query without its conditions on labels.
func (q Query) Without(labels ...string) Query {
	var kept []store.Matcher
	for _, m := range q.Matchers {
		if !slices.Contains(labels, m.Label()) {
			kept = append(kept, m)
		}
	}
	q.Matchers = kept
	return q
}

// WithoutIDs returns the query without its conditions on ids of spans and
// traces, as a baseline is.
func (q Query) WithoutIDs() Query { return q.Without(idLabels...) }
