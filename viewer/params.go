// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"maps"
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

// knownParams are the parameters of all pages, which link to each other with them.
var knownParams = []string{
	"query", "from", "until", "format", "labels",
	"leftQuery", "leftFrom", "leftUntil", "leftSearch", "leftZoom", "rightQuery", "rightFrom", "rightUntil",
	"name", "filter", "service", "trace", "below", "attribute", "error", "flat", "order", "limit", "min", "max", "by", "since", "dir",
	"function", "view", "zoom", "search", "sort", "per", "package", "file", "line",
}

// unknown returns the names of other parameters, sorted: a misspelt one does nothing.
func unknown(params url.Values) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(params)), func(name string) bool { return slices.Contains(knownParams, name) })
}

// parseProfile reads the query of a flame graph.
func parseProfile(q *question) (err error) {
	q.query, err = parseQuery(q.params, "query", "from", "until")
	q.about = []answer.Query{q.query}
	return err
}

// parseTimeline reads the query of a time line. Without one it is the process's.
func parseTimeline(q *question) error {
	if q.params.Get("query") == "" {
		q.process = true
		q.params.Set("query", flameql.Query{Type: flameql.CPU}.String())
	}
	return parseProfile(q)
}

// parseComparison reads two queries of one type.
func parseComparison(q *question) (err error) {
	if q.query, err = parseQuery(q.params, "leftQuery", "leftFrom", "leftUntil"); err != nil {
		return err
	}
	if q.right, err = parseQuery(q.params, "rightQuery", "rightFrom", "rightUntil"); err != nil {
		return err
	}
	q.about = []answer.Query{q.query, q.right}
	return answer.Comparable(q.query, q.right)
}

// parseSource reads the place of a line of source code.
func parseSource(q *question) (err error) {
	if q.line, err = strconv.Atoi(q.params.Get("line")); err != nil || q.line < 1 {
		return answer.BadRequestf("line is missing, or no line number")
	}
	return nil
}

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

const (
	// defaultSpans is the length of the list of spans without a limit. maxSpans bounds it: a
	// span takes about 300 bytes of JSON.
	defaultSpans = 200
	maxSpans     = 10_000
	// defaultNames is the length of the table of names without a limit.
	defaultNames = 500
	// maxAttributeConditions bounds the cost of a list of spans.
	maxAttributeConditions = 4
)

// parseAttribute reads a condition such as http.route=/cart or http.route=~/cart.*, with a
// value without quotes.
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

var spanOrders = map[string]store.Order{"": store.Newest, "newest": store.Newest, "slowest": store.Slowest, "cpu": store.MostCPU}

// parseSpans reads the conditions of the list of spans.
func parseSpans(asked *question) (err error) {
	params := asked.params
	q := store.SpanQuery{
		Name:     params.Get("name"),
		Contains: params.Get("filter"),
		Service:  params.Get("service"),
		TraceID:  params.Get("trace"),
		Below:    params.Get("below"),
		Running:  true,
	}
	if len(params["attribute"]) > maxAttributeConditions {
		return answer.BadRequestf("attribute: at most %d conditions count", maxAttributeConditions)
	}
	for _, text := range params["attribute"] {
		m, err := parseAttribute(text)
		if err != nil {
			return err
		}
		q.Attributes = append(q.Attributes, m)
	}
	var flat, ok bool
	if q.OnlyErrors, err = optional(params, "error", strconv.ParseBool, "true or false"); err != nil {
		return err
	}
	if flat, err = optional(params, "flat", strconv.ParseBool, "true or false"); err != nil {
		return err
	}
	// The spans of a trace, and those below a span, are listed one by one.
	q.Requests = !flat && q.TraceID == "" && q.Below == ""
	if q.Order, ok = spanOrders[params.Get("order")]; !ok {
		return answer.BadRequestf("unknown order %q: known are newest, slowest and cpu", params.Get("order"))
	}
	if q.Limit, err = optional(params, "limit", parseLimit, "a whole number above 0"); err != nil {
		return err
	}
	if q.Limit > maxSpans {
		return answer.BadRequestf("limit %d: at most %d spans are listed at once; ask for less time, with from and until, or for less with filter, min or service", q.Limit, maxSpans)
	}
	q.Limit = cmp.Or(q.Limit, defaultSpans)
	if q.MinDuration, err = optional(params, "min", parseLength, "a duration such as 250ms or 1.5s"); err != nil {
		return err
	}
	if q.MaxDuration, err = optional(params, "max", parseLength, "a duration such as 250ms or 1.5s"); err != nil {
		return err
	}
	if q.MaxDuration > 0 && q.MaxDuration < q.MinDuration {
		return answer.BadRequestf("max %s is less than min %s", q.MaxDuration, q.MinDuration)
	}
	q.From, q.Until, err = parseRange(params, "from", "until")
	asked.spans = q
	asked.about = []answer.Query{{From: q.From, Until: q.Until}}
	return err
}

// optional parses a parameter; its zero value counts if it is absent.
func optional[T any](params url.Values, name string, parse func(string) (T, error), expected string) (value T, err error) {
	text := params.Get(name)
	if text == "" {
		return value, nil
	}
	if value, err = parse(text); err != nil {
		return value, answer.BadRequestf("%s %q: expected %s", name, text, expected)
	}
	return value, nil
}

func parseLimit(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n, err
}

func parseLength(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return d, err
}

// parseNames reads the conditions and the order of the table of names.
func parseNames(q *question) error {
	if err := parseSpans(q); err != nil {
		return err
	}
	params := q.params
	o := answer.NameOrder{Sort: cmp.Or(params.Get("sort"), byname.Sorts[0]), Limit: defaultNames}
	if !slices.Contains(byname.Sorts, o.Sort) {
		return answer.BadRequestf("unknown sort %q: known are %s", o.Sort, strings.Join(byname.Sorts, ", "))
	}
	switch dir := params.Get("dir"); dir {
	case "":
		o.Ascending = o.Sort == "name"
	case "desc":
	case "asc":
		o.Ascending = true
	default:
		return answer.BadRequestf("unknown dir %q: known are desc and asc", dir)
	}
	if params.Get("limit") != "" {
		o.Limit = q.spans.Limit
	}
	q.names = o
	return nil
}

// parseRange reads the time [from, until) from two parameters. A missing one leaves that
// side open.
func parseRange(params url.Values, fromName, untilName string) (from, until time.Time, err error) {
	now := time.Now()
	if text := params.Get(fromName); text != "" {
		if from, _, err = parseTime(text, now); err != nil {
			return from, until, answer.BadRequestf("%s: %w", fromName, err)
		}
	}
	if text := params.Get(untilName); text != "" {
		t, unit, err := parseTime(text, now)
		if err != nil {
			return from, until, answer.BadRequestf("%s: %w", untilName, err)
		}
		// A span's end that was cut to seconds lies before the end. Its samples may
		// be in a later window.
		until = t.Add(unit)
	}
	if !from.IsZero() && !until.IsZero() && until.Before(from) {
		return from, until, answer.BadRequestf("%s lies before %s", untilName, fromName)
	}
	return from, until, nil
}

// parseTime reads a time in the forms of continuous profilers: unix seconds,
// milliseconds, microseconds or nanoseconds, distinguished by their magnitude; RFC 3339;
// now, or now-1h. It also returns the length of the unit: 1700000000 is a whole second,
// not its first instant.
func parseTime(text string, now time.Time) (time.Time, time.Duration, error) {
	if ago, ok := strings.CutPrefix(text, "now"); ok {
		if ago == "" {
			return now, 0, nil
		}
		if d, err := parseAgo(ago); err == nil {
			return now.Add(-d), 0, nil
		}
		return time.Time{}, 0, badTime(text)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch {
		case n < 1e11: // Until the year 5138.
			return time.Unix(n, 0), time.Second, nil
		case n < 1e14:
			return time.UnixMilli(n), time.Millisecond, nil
		case n < 1e17:
			return time.UnixMicro(n), time.Microsecond, nil
		}
		return time.Unix(0, n), time.Nanosecond, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() > 9999 {
		return time.Time{}, 0, badTime(text)
	}
	return t, 0, nil
}

// parseAgo reads "-1h", "-90s" or "-7d".
func parseAgo(text string) (time.Duration, error) {
	text, ok := strings.CutPrefix(text, "-")
	if !ok {
		return 0, badTime(text)
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		return 0, badTime(text)
	}
	return d, err
}

func badTime(text string) error {
	return fmt.Errorf("time %q: expected unix seconds, milliseconds or nanoseconds, RFC 3339, now, or now-1h", text)
}
