// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// parseProfile reads the query of a flame graph.
func parseProfile(q *question) (err error) {
	q.query, err = parseQuery(q.params, "query", "from", "until")
	q.about = []answer.Query{q.query}
	return err
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
	// defaultSpans is the length of a list without a limit. maxSpans bounds it: a span takes
	// about 300 bytes of JSON.
	defaultSpans = 200
	maxSpans     = 10_000
	// textRows is the length of a list in text without a limit, with two lines for a span: a page
	// has at most 40 lines.
	textRows = 12
	// maxAttributeConditions bounds the cost of a list of spans.
	maxAttributeConditions = 4
)

var attributeCondition = regexp.MustCompile(`^([^=!]+)(=~|!~|!=|=)((?s).*)$`)

var matchOps = map[string]store.MatchOp{"=~": store.MatchRegexp, "!~": store.MatchNotRegexp, "!=": store.MatchNotEqual, "=": store.MatchEqual}

// parseAttribute reads a condition such as http.route=/cart or http.route=~/cart.*, with a
// value without quotes.
func parseAttribute(text string) (store.Matcher, error) {
	m := attributeCondition.FindStringSubmatch(text)
	if m == nil {
		return store.Matcher{}, answer.BadRequestf("attribute %q: expected a condition such as http.route=/cart, with =, !=, =~ or !~", text)
	}
	matcher, err := store.NewMatcher("span."+m[1], matchOps[m[2]], m[3])
	if err != nil {
		return matcher, answer.BadRequestf("attribute %s: %w", text, err)
	}
	return matcher, nil
}

var spanOrders = map[string]store.Order{"": store.Newest, "newest": store.Newest, "slowest": store.Slowest, "cpu": store.MostCPU}

// values reads parameters, and keeps the first error.
type values struct {
	url.Values
	err error
}

// optional parses a parameter; its zero value counts if it is absent.
func optional[T any](v *values, name string, parse func(string) (T, error), expected string) (value T) {
	text := v.Get(name)
	if text == "" || v.err != nil {
		return value
	}
	value, err := parse(text)
	if err != nil {
		v.err = answer.BadRequestf("%s %q: expected %s", name, text, expected)
	}
	return value
}

func (v *values) bool(name string) bool {
	return optional(v, name, strconv.ParseBool, "true or false")
}

// above parses a parameter that must not be negative.
func above[T int | time.Duration](least T, parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		value, err := parse(text)
		if err == nil && value < least {
			err = strconv.ErrRange
		}
		return value, err
	}
}

func (v *values) duration(name string) time.Duration {
	return optional(v, name, above(0, time.ParseDuration), "a duration such as 250ms or 1.5s")
}

// parseSpans reads the conditions of the list of spans.
func parseSpans(asked *question) (err error) {
	v := &values{Values: asked.params}
	order, known := spanOrders[v.Get("order")]
	rows := defaultSpans
	if asked.format == formatText {
		rows = textRows
	}
	q := store.SpanQuery{
		Name:     v.Get("name"),
		Contains: v.Get("filter"),
		Service:  v.Get("service"),
		TraceID:  v.Get("trace"),
		Below:    v.Get("below"),
		Running:  true,
		Order:    order,
		// The spans of a trace, and those below a span, are listed one by one.
		Requests:    !v.bool("flat") && v.Get("trace") == "" && v.Get("below") == "",
		OnlyErrors:  v.bool("error"),
		MinDuration: v.duration("min"),
		MaxDuration: v.duration("max"),
		Limit:       cmp.Or(optional(v, "limit", above(1, strconv.Atoi), "a whole number above 0"), rows),
	}
	switch attributes := asked.params["attribute"]; {
	case v.err != nil:
		return v.err
	case !known:
		return answer.BadRequestf("unknown order %q: known are newest, slowest and cpu", v.Get("order"))
	case q.Limit > maxSpans:
		return answer.BadRequestf("limit %d: at most %d spans are listed at once; ask for less time, with from and until, or for less with filter, min or service", q.Limit, maxSpans)
	case q.MaxDuration > 0 && q.MaxDuration < q.MinDuration:
		return answer.BadRequestf("max %s is less than min %s", q.MaxDuration, q.MinDuration)
	case len(attributes) > maxAttributeConditions:
		return answer.BadRequestf("attribute: at most %d conditions count", maxAttributeConditions)
	default:
		for _, text := range attributes {
			m, err := parseAttribute(text)
			if err != nil {
				return err
			}
			q.Attributes = append(q.Attributes, m)
		}
	}
	q.From, q.Until, err = parseRange(asked.params, "from", "until")
	asked.spans = q
	asked.about = []answer.Query{{From: q.From, Until: q.Until}}
	return err
}

// parseNames reads the order and the length of the table of names.
func parseNames(q *question) error {
	if q.sort = cmp.Or(q.params.Get("sort"), answer.Sorts[0]); !slices.Contains(answer.Sorts, q.sort) {
		return answer.BadRequestf("unknown sort %q: known are %s", q.sort, strings.Join(answer.Sorts, ", "))
	}
	return parseSpans(q)
}

// parseRange reads the time [from, until) from two parameters. A missing one leaves that
// side open.
func parseRange(params url.Values, fromName, untilName string) (from, until time.Time, err error) {
	now := time.Now()
	if from, _, err = parseTime(params.Get(fromName), now); err != nil {
		return from, until, answer.BadRequestf("%s: %w", fromName, err)
	}
	t, unit, err := parseTime(params.Get(untilName), now)
	if err != nil {
		return from, until, answer.BadRequestf("%s: %w", untilName, err)
	}
	// A span's end that was cut to seconds lies before the end. Its samples may be in a later
	// window.
	until = t.Add(unit)
	if !from.IsZero() && !until.IsZero() && until.Before(from) {
		return from, until, answer.BadRequestf("%s lies before %s", untilName, fromName)
	}
	return from, until, nil
}

// parseTime reads a time in the forms of continuous profilers: unix seconds,
// milliseconds or nanoseconds, distinguished by their magnitude; RFC 3339; now, or now-1h. It
// also returns the length of the unit: 1700000000 is a whole second, not its first instant.
func parseTime(text string, now time.Time) (time.Time, time.Duration, error) {
	if text == "" {
		return time.Time{}, 0, nil
	}
	if ago, ok := strings.CutPrefix(text, "now"); ok {
		d, err := parseAgo(ago)
		if err != nil {
			return time.Time{}, 0, badTime(text)
		}
		return now.Add(-d), 0, nil
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

// parseAgo reads "-1h", "-90s", "-7d" or "".
func parseAgo(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if text[0] != '-' {
		return 0, strconv.ErrSyntax
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(strings.TrimPrefix(days, "-"), 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	return -d, err
}

func badTime(text string) error {
	return fmt.Errorf("time %q: expected unix seconds, milliseconds or nanoseconds, RFC 3339, now, or now-1h", text)
}
