// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spanprof/spanprof/store"
)

// query is a FlameQL query and the time it looks at.
type query struct {
	flameQL
	timeRange
}

// parseQuery reads a query from three parameters. A side of a comparison that
// is missing one takes what the page as a whole asks for.
func parseQuery(params url.Values, name, from, until string) (query, error) {
	if params.Get(name) == "" {
		if params.Get("query") == "" {
			return query{}, badRequestf("%s is missing: give a query such as .cpu{span_name=\"NAME\"}", name)
		}
		name = "query"
	}
	if params.Get(from) == "" {
		from = "from"
	}
	if params.Get(until) == "" {
		until = "until"
	}
	ql, err := parseFlameQL(params.Get(name))
	if err != nil {
		if name != "query" {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return query{}, badRequest{err: err}
	}
	within, err := parseRange(params, from, until, time.Now())
	if err != nil {
		return query{}, err
	}
	return query{flameQL: ql, timeRange: within}, nil
}

// title says in words what the query selects; span is the one that it has the
// id of, if that is known.
func (q query) title(span *spanJSON) string {
	if span != nil {
		return span.title()
	}
	if name, ok := q.value("span_name"); ok && name != "" {
		return name
	}
	if id, ok := q.spanID(); ok {
		return "Profile " + id
	}
	if id, ok := q.value("trace_id"); ok {
		return "Trace " + id
	}
	if len(q.matchers) == 0 {
		return "Whole process: " + q.typ.words
	}
	return q.String()
}

// store returns the query in the store's terms.
func (q query) store() store.Query {
	return store.Query{
		Kind:       q.typ.kind,
		SampleType: q.typ.sampleType,
		Matchers:   q.matchers,
		From:       q.from,
		Until:      q.until,
	}
}
