// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// query is a FlameQL query and the time it looks at.
type query struct {
	flameQL
	timeRange
	// service is the service that the application is, where it has to be told
	// from others; see resolve.
	service string
	// labelIDs keeps the ids in pprof though no condition lists some.
	labelIDs bool
}

// parseQuery reads a query from three parameters. A side of a comparison that
// is missing one takes what the page as a whole asks for.
func (h *handler) parseQuery(params url.Values, name, from, until string) (query, error) {
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
	q := query{flameQL: ql, timeRange: within}
	switch labels := params.Get("labels"); labels {
	case "":
	case "ids":
		q.labelIDs = true
	default:
		return query{}, badRequestf("labels %q: the only choice is ids, which keeps profile_id, span_id and trace_id in pprof", labels)
	}
	return h.resolve(q), nil
}

// title says in words what the query selects; span is the one that it has the
// id of, if that is known, and ids how many profile_id values were found.
func (q query) title(span *spanJSON, ids int) string {
	if span != nil {
		return span.title()
	}
	if name, ok := q.value(labelkey.SpanName); ok && name != "" {
		return name
	}
	if id, ok := q.spanID(); ok {
		return "Profile " + id
	}
	if id, ok := q.value(labelkey.TraceID); ok {
		return "Trace " + id
	}
	if version, ok := q.value("service_version"); ok {
		service, _ := q.value("service_name")
		return strings.TrimSpace(service + " version " + version)
	}
	if len(q.matchers) == 0 && q.service != "" {
		return q.service + ": " + q.typ.words
	}
	if len(q.matchers) == 0 {
		return "Whole process: " + q.typ.words
	}
	if m := q.matchers[0]; len(q.matchers) == 1 && m.Label() == labelkey.ProfileID && m.Op() == store.MatchRegexp && ids > 0 {
		// What the list of spans makes of those it shows.
		return plural(ids, "span") + " together"
	}
	return q.String()
}

// asksForWork says whether the query is about some of a process's work, and not
// about whole processes.
func (q query) asksForWork() bool {
	return len(q.without("service_name", "service_version").matchers) > 0
}

// maxIDSamples bounds the samples of a pprof with ids, of which each takes 3 kB
// while it is put together.
const maxIDSamples = 50_000

// store returns the query in the store's terms.
func (q query) store() store.Query {
	withIDs := q.labelIDs || slices.ContainsFunc(q.matchers, store.Matcher.ListsIDs)
	selected := q.flameQL
	if q.service != "" {
		selected = selected.with("service_name", q.service)
	}
	query := store.Query{
		Kind:       q.typ.kind,
		SampleType: q.typ.sampleType,
		Matchers:   selected.matchers,
		From:       q.from,
		Until:      q.until,
		// Of a big profile most would be ids, which nobody asked for.
		WithoutIDs: !withIDs,
	}
	if withIDs {
		query.MaxSamples = maxIDSamples
	}
	return query
}
