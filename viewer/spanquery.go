// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// defaultSpans is the length of the list where the request names none.
const defaultSpans = 200

// matchNothing is an expression that no text is equal to.
const matchNothing = "x^"

// parseSpanQuery reads the parameters of the list of spans.
func parseSpanQuery(params url.Values) (store.SpanQuery, error) {
	q := store.SpanQuery{
		Name:         params.Get("name"),
		NameContains: params.Get("filter"),
		Service:      params.Get("service"),
		TraceID:      params.Get("trace"),
		Limit:        defaultSpans,
		Running:      true,
	}
	switch order := params.Get("order"); order {
	case "", "newest":
		q.Order = store.Newest
	case "slowest":
		q.Order = store.Slowest
	case "cpu":
		q.Order = store.MostCPU
	default:
		return q, badRequestf("unknown order %q: known are newest, slowest and cpu", order)
	}
	if text := params.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 {
			return q, badRequestf("limit %q: expected a whole number above 0", text)
		}
		q.Limit = limit
	}
	if text := params.Get("error"); text != "" {
		only, err := strconv.ParseBool(text)
		if err != nil {
			return q, badRequestf("error %q: expected true or false", text)
		}
		q.OnlyErrors = only
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
			return q, badRequestf("%s %q: expected a duration such as 250ms or 1.5s", bound.name, text)
		}
		*bound.value = d
	}
	if q.MaxDuration > 0 && q.MaxDuration < q.MinDuration {
		return q, badRequestf("max %s is less than min %s", q.MaxDuration, q.MinDuration)
	}
	within, err := parseRange(params, "from", "until", time.Now())
	if err != nil {
		return q, err
	}
	q.From, q.Until = within.from, within.until
	return q, nil
}

// listedProfile is the query for the CPU of some spans together.
func listedProfile(spans []store.Span) (query, error) {
	var ids []string
	for _, s := range spans {
		// No expression is equal to what is no text.
		if utf8.ValidString(s.ProfileID) {
			ids = append(ids, regexp.QuoteMeta(s.ProfileID))
		}
	}
	expression := matchNothing
	if len(ids) > 0 {
		expression = strings.Join(ids, "|")
	}
	m, err := store.NewMatcher(labelkey.ProfileID, store.MatchRegexp, expression)
	if err != nil {
		return query{}, badRequestf("%d spans are too many for one profile: set limit", len(spans))
	}
	return query{flameQL: flameQL{typ: profileTypes[0], matchers: []store.Matcher{m}}}, nil
}
