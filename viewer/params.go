// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/answer"
	"github.com/spanprof/spanprof/viewer/internal/answer/byname"
)

// parseQuery reads a query from three parameters. Where a side of a comparison lacks one,
// the page's own parameter counts.
func parseQuery(params url.Values, name, from, until string) (answer.Query, error) {
	if params.Get(name) == "" {
		if params.Get("query") == "" {
			return answer.Query{}, answer.BadRequestf("%s is missing: give a query such as .cpu{span_name=\"NAME\"}", name)
		}
		name = "query"
	}
	if params.Get(from) == "" {
		from = "from"
	}
	if params.Get(until) == "" {
		until = "until"
	}
	ql, err := flameql.Parse(params.Get(name))
	if err != nil {
		if name != "query" {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return answer.Query{}, answer.BadRequest{Err: err}
	}
	q := answer.Query{Query: ql}
	if q.From, q.Until, err = parseRange(params, from, until); err != nil {
		return q, err
	}
	switch labels := params.Get("labels"); labels {
	case "":
	case "ids":
		q.KeepIDs = true
	default:
		return q, answer.BadRequestf("labels %q: the only choice is ids, which keeps profile_id, span_id and trace_id in pprof", labels)
	}
	return q, nil
}

// defaultSpans is the length of the list of spans without a limit.
const defaultSpans = 200

// maxSpans bounds it: a span takes about 300 bytes of JSON, and more while it is made.
const maxSpans = 10_000

// maxAttributeConditions bounds what a list of spans costs.
const maxAttributeConditions = 4

// parseAttribute reads a condition such as http.route=/cart or http.route=~/cart.*, whose
// value needs no quotes.
func parseAttribute(text string) (store.Matcher, error) {
	i := strings.IndexAny(text, "=!")
	if i > 0 {
		for _, o := range []struct {
			text string
			op   store.MatchOp
		}{{"=~", store.MatchRegexp}, {"!~", store.MatchNotRegexp}, {"!=", store.MatchNotEqual}, {"=", store.MatchEqual}} {
			if value, ok := strings.CutPrefix(text[i:], o.text); ok {
				m, err := store.NewMatcher("span."+text[:i], o.op, value)
				if err != nil {
					return m, answer.BadRequestf("attribute %s: %w", text, err)
				}
				return m, nil
			}
		}
	}
	return store.Matcher{}, answer.BadRequestf("attribute %q: expected a condition such as http.route=/cart, with =, !=, =~ or !~", text)
}

// parseSpanQuery reads the parameters of the list of spans.
func parseSpanQuery(params url.Values) (store.SpanQuery, error) {
	q := store.SpanQuery{
		Name:     params.Get("name"),
		Contains: params.Get("filter"),
		Service:  params.Get("service"),
		TraceID:  params.Get("trace"),
		Below:    params.Get("below"),
		Limit:    defaultSpans,
		Running:  true,
	}
	for _, text := range params["attribute"] {
		if len(q.Attributes) == maxAttributeConditions {
			return q, answer.BadRequestf("attribute: at most %d conditions count", maxAttributeConditions)
		}
		m, err := parseAttribute(text)
		if err != nil {
			return q, err
		}
		q.Attributes = append(q.Attributes, m)
	}
	flat := false
	for _, flag := range []struct {
		name  string
		value *bool
	}{{"error", &q.OnlyErrors}, {"flat", &flat}} {
		text := params.Get(flag.name)
		if text == "" {
			continue
		}
		on, err := strconv.ParseBool(text)
		if err != nil {
			return q, answer.BadRequestf("%s %q: expected true or false", flag.name, text)
		}
		*flag.value = on
	}
	// A trace, and what is below a span, is looked at span by span.
	q.Requests = !flat && q.TraceID == "" && q.Below == ""
	switch order := params.Get("order"); order {
	case "", "newest":
		q.Order = store.Newest
	case "slowest":
		q.Order = store.Slowest
	case "cpu":
		q.Order = store.MostCPU
	default:
		return q, answer.BadRequestf("unknown order %q: known are newest, slowest and cpu", order)
	}
	if text := params.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 {
			return q, answer.BadRequestf("limit %q: expected a whole number above 0", text)
		}
		if limit > maxSpans {
			return q, answer.BadRequestf("limit %d: at most %d spans are listed at once; ask for less time, with from and until, or for less with filter, min or service", limit, maxSpans)
		}
		q.Limit = limit
	}
	for _, bound := range []struct {
		name  string
		value *time.Duration
	}{{"min", &q.MinDuration}, {"max", &q.MaxDuration}} {
		text := params.Get(bound.name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return q, answer.BadRequestf("%s %q: expected a duration such as 250ms or 1.5s", bound.name, text)
		}
		*bound.value = d
	}
	if q.MaxDuration > 0 && q.MaxDuration < q.MinDuration {
		return q, answer.BadRequestf("max %s is less than min %s", q.MaxDuration, q.MinDuration)
	}
	var err error
	q.From, q.Until, err = parseRange(params, "from", "until")
	return q, err
}

// defaultNames is the length of the table of names without a limit.
const defaultNames = 500

// parseNameOrder reads how the table of names is sorted and cut.
func parseNameOrder(params url.Values) (answer.NameOrder, error) {
	o := answer.NameOrder{Sort: cmp.Or(params.Get("sort"), byname.Sorts[0]), Limit: defaultNames}
	if !slices.Contains(byname.Sorts, o.Sort) {
		return o, answer.BadRequestf("unknown sort %q: known are %s", o.Sort, strings.Join(byname.Sorts, ", "))
	}
	switch dir := params.Get("dir"); dir {
	case "":
		o.Ascending = o.Sort == "name"
	case "desc":
	case "asc":
		o.Ascending = true
	default:
		return o, answer.BadRequestf("unknown dir %q: known are desc and asc", dir)
	}
	if text := params.Get("limit"); text != "" {
		// parseSpanQuery has refused what is no number.
		o.Limit, _ = strconv.Atoi(text)
	}
	return o, nil
}
