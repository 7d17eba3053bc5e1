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
)

func parseProfile(q *question) (err error) {
	q.query, err = parseQuery(q.params, "query", "from", "until")
	q.from, q.until = q.query.From, q.query.Until
	return err
}

func parseComparison(q *question) (err error) {
	if q.query, err = parseQuery(q.params, "leftQuery", "leftFrom", "leftUntil"); err != nil {
		return err
	}
	if q.right, err = parseQuery(q.params, "rightQuery", "rightFrom", "rightUntil"); err != nil {
		return err
	}
	if left, right := q.query.Type, q.right.Type; left != right {
		return answer.BadRequestf("left is %s and right is %s: only profiles of one type can be compared", left.Name, right.Name)
	}
	q.from, q.until = q.query.From, q.query.Until
	if !q.from.IsZero() && q.right.From.Before(q.from) {
		q.from = q.right.From
	}
	if q.right.Until.IsZero() || !q.until.IsZero() && q.right.Until.After(q.until) {
		q.until = q.right.Until
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
	q.KeepIDs, err = parseFlag(params, "labels", "ids")
	return q, err
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

var spanOrders = map[string]store.Order{"": store.Newest, "newest": store.Newest, "slowest": store.Slowest, "cpu": store.MostCPU}

func parseSpans(asked *question) (err error) {
	params := asked.params
	flat, errFlat := parseFlag(params, "flat", "true")
	onlyErrors, errError := parseFlag(params, "error", "true")
	if err := cmp.Or(errFlat, errError); err != nil {
		return err
	}
	order, known := spanOrders[params.Get("order")]
	q := store.SpanQuery{
		Name:     params.Get("name"),
		Contains: params.Get("filter"),
		Service:  params.Get("service"),
		TraceID:  params.Get("trace"),
		Below:    params.Get("below"),
		Running:  true,
		Order:    order,
		// The spans of a trace, and those below a span, are listed one by one.
		Requests:   !flat && params.Get("trace") == "" && params.Get("below") == "",
		OnlyErrors: onlyErrors,
		Limit:      defaultSpans,
	}
	if asked.format == formatText {
		q.Limit = textRows
	}
	if text := params.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 {
			return answer.BadRequestf("limit %q: expected a whole number above 0", text)
		}
	}
	if text := params.Get("min"); text != "" {
		if q.MinDuration, err = time.ParseDuration(text); err != nil || q.MinDuration < 0 {
			return answer.BadRequestf("min %q: expected a duration such as 250ms or 1.5s", text)
		}
	}
	for _, text := range params["attribute"] {
		key, value, found := strings.Cut(text, "=")
		m, err := store.NewMatcher("span."+key, store.MatchEqual, value)
		if err != nil || !found || key == "" || strings.HasSuffix(key, "!") || strings.HasPrefix(value, "~") {
			return answer.BadRequestf("attribute %q: expected a condition such as http.route=/cart", text)
		}
		q.Attributes = append(q.Attributes, m)
	}
	switch {
	case params.Has("max"):
		return answer.BadRequestf("max: lists have no upper bound of durations")
	case !known:
		return answer.BadRequestf("unknown order %q: known are newest, slowest and cpu", params.Get("order"))
	case q.Limit > maxSpans:
		return answer.BadRequestf("limit %d: at most %d spans are listed at once; ask for less time, with from and until, or for less with filter, min or service", q.Limit, maxSpans)
	case len(q.Attributes) > maxAttributeConditions:
		return answer.BadRequestf("attribute: at most %d conditions count", maxAttributeConditions)
	}
	q.From, q.Until, err = parseRange(params, "from", "until")
	asked.spans, asked.from, asked.until = q, q.From, q.Until
	return err
}

func parseNames(q *question) error {
	if q.sort = cmp.Or(q.params.Get("sort"), "cpu"); !slices.Contains(answer.Sorts, q.sort) {
		return answer.BadRequestf("unknown sort %q: known are %s", q.sort, strings.Join(answer.Sorts, ", "))
	}
	return parseSpans(q)
}

// parseFlag reports whether a parameter has its only value. It may be false, or absent.
func parseFlag(params url.Values, name, on string) (bool, error) {
	value := params.Get(name)
	if value != "" && value != "false" && value != on {
		return false, answer.BadRequestf("%s %q: expected %s or false", name, value, on)
	}
	return value == on, nil
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
		d, err := time.ParseDuration(cmp.Or(ago, "-0s"))
		if err != nil || ago != "" && ago[0] != '-' {
			return time.Time{}, 0, badTime(text)
		}
		return now.Add(d), 0, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch {
		case n < 1e11: // Until the year 5138.
			return time.Unix(n, 0), time.Second, nil
		case n < 1e14:
			return time.UnixMilli(n), time.Millisecond, nil
		case n < 1e17: // Microseconds, or nanoseconds before the year 1974.
			return time.Time{}, 0, badTime(text)
		}
		return time.Unix(0, n), time.Nanosecond, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() > 9999 {
		return time.Time{}, 0, badTime(text)
	}
	return t, 0, nil
}

func badTime(text string) error {
	return fmt.Errorf("time %q: expected unix seconds, milliseconds or nanoseconds, RFC 3339, now, or now-1h", text)
}
