// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// page is an entry of the route table: how to read a request, and how to answer it from a view.
type page struct {
	// fallback is the format of a request without one.
	fallback format
	parse    func(*question) error
	// before does what takes long without a view, which keeps its samples; nil for nothing.
	before func(*handler, *question) error
	// data returns a *answer.Pprof, a string, or else data for JSON that may have a text.
	data func(*handler, *answer.Reader, *question) (any, error)
	// frozen is set if the page can be one file that opens without a server.
	frozen bool
}

// pages has the pages by the last segment of their path. With a query the page "" is the page
// profile.
var pages = map[string]page{
	"": {
		fallback: formatHTML, parse: parseSpans, frozen: true,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) {
			if q.format == formatText && q.params.Get("name") != "" && !q.params.Has("order") {
				return a.About(q.spans)
			}
			return a.SpanList(q.spans)
		},
	},
	"profile": {
		fallback: formatPprof, parse: parseProfile, frozen: true,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) {
			switch q.format {
			case formatPprof:
				return a.Pprof(q.query)
			case formatFolded:
				return a.Folded(q.query)
			}
			return a.Profile(q.query)
		},
	},
	"waits": {
		fallback: formatPprof, parse: parseProfile,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) {
			if q.format != formatPprof {
				return nil, noForm(q)
			}
			return a.WaitsPprof(q.query)
		},
	},
	"comparison":      comparison,
	"comparison-diff": comparison,
	"timeline": {
		fallback: formatJSON, parse: parseProfile,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) { return a.Timeline(q.query) },
	},
	"source": {
		fallback: formatJSON, parse: parseNothing,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) {
			line, _ := strconv.Atoi(q.params.Get("line")) // there is no line 0
			return a.Code.Source(q.params.Get("package"), q.params.Get("file"), line)
		},
	},
	"about": {
		fallback: formatJSON, parse: parseSpans,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) { return a.About(q.spans) },
	},
	"names": {
		fallback: formatHTML, parse: parseNames,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) { return a.NameTable(q.spans, q.sort) },
	},
	"running": {
		fallback: formatHTML, parse: parseNothing,
		data: func(h *handler, a *answer.Reader, _ *question) (any, error) {
			return a.Running(h.running, h.leaks != nil)
		},
	},
	"leaks": {
		fallback: formatText, parse: parseNothing, before: (*handler).findLeaks,
		data: func(_ *handler, a *answer.Reader, q *question) (any, error) { return a.Leaks(q.leaks) },
	},
	"log": {
		fallback: formatHTML, parse: parseNothing,
		data: func(_ *handler, a *answer.Reader, _ *question) (any, error) { return a.Log() },
	},
}

// comparison has two addresses: one shows two graphs, the other one coloured graph.
var comparison = page{
	fallback: formatHTML, parse: parseComparison, frozen: true,
	data: func(_ *handler, a *answer.Reader, q *question) (any, error) { return a.Compare(q.query, q.right) },
}

// question is a parsed request.
type question struct {
	params url.Values
	format format
	// query selects a flame graph, or the left side of a comparison.
	query, right answer.Query
	spans        store.SpanQuery
	sort         string // of names
	leaks        []byte // the profile of leaked goroutines, nil without WithLeaks
	// from and until bound the time that the answer is about.
	from, until time.Time
}

// servePage reads a request, and answers it in its format.
func (h *handler) servePage(w http.ResponseWriter, r *http.Request, segment string) {
	// URL.Query drops what it cannot parse, such as a value with an unescaped semicolon.
	params, malformed := url.ParseQuery(r.URL.RawQuery)
	p, q, err := parse(segment, params)
	if malformed != nil {
		err = answer.BadRequestf("malformed URL: %w: in a value, write a semicolon as %%3B and a percent sign as %%25", malformed)
	}
	resp := pageResponse()
	switch {
	case err != nil:
	case q.format == formatFrozen && p.frozen:
		resp, err = h.freeze(r.Context(), segment, params)
	case q.format != formatHTML:
		resp, err = h.answer(r.Context(), p, q)
	}
	if err != nil {
		writeError(w, r, q.format, err)
		return
	}
	resp.write(w, r, http.StatusOK)
}

// parse returns the page of a request, and the parsed request.
func parse(segment string, params url.Values) (page, *question, error) {
	p := pages[segment]
	if segment == "" && params.Get("query") != "" {
		p = pages["profile"]
		p.fallback = formatHTML
	}
	q := &question{params: params, format: format(cmp.Or(params.Get("format"), string(p.fallback)))}
	if !slices.Contains(formats, q.format) {
		err := answer.BadRequestf("unknown format %q: known are html, frozen, json, text, folded and pprof", q.format)
		q.format = formatText
		return p, q, err
	}
	return p, q, p.parse(q)
}

func parseNothing(*question) error { return nil }

// maxAnswerTime bounds how long an answer may take. A regular expression on every id of a large
// store takes seconds.
const maxAnswerTime = 30 * time.Second

var errTooLong = fmt.Errorf("the answer takes more than %v: ask for less time, or without regular expressions", maxAnswerTime)

func (h *handler) answer(ctx context.Context, p page, q *question) (resp response, err error) {
	limited, cancel := context.WithTimeout(ctx, maxAnswerTime)
	defer cancel()
	defer func() {
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = errTooLong
		}
	}()
	if p.before != nil {
		if err := p.before(h, q); err != nil {
			return resp, err
		}
	}
	view, err := h.source.View(limited, q.from, q.until)
	if err != nil {
		return resp, err
	}
	defer view.Close()
	a := answer.NewReader(limited, view, h.currentStatus(), &h.program)
	if same := q.unchanged(a); same != nil {
		return jsonResponse(same)
	}
	data, err := p.data(h, a, q)
	if err != nil {
		return resp, err
	}
	switch data := data.(type) {
	case *answer.Pprof:
		return pprofResponse(data), nil
	case string:
		return textResponse(data), nil
	case interface{ Text() string }:
		if q.format == formatText {
			return textResponse(data.Text()), nil
		}
	}
	if q.format != formatJSON {
		return resp, noForm(q)
	}
	return jsonResponse(data)
}

func noForm(q *question) error { return answer.BadRequestf("this page has no %s form", q.format) }

// unchanged returns the answer to a client that polls a list and has it already. It is nil if
// there may be something new.
func (q *question) unchanged(a *answer.Reader) *answer.Unchanged {
	since := q.params.Get("since")
	// A list of the time before now changes with the clock.
	byClock := strings.HasPrefix(q.params.Get("from"), "now") || strings.HasPrefix(q.params.Get("until"), "now")
	if since == "" || byClock || q.format != formatJSON {
		return nil
	}
	return a.Unchanged(since)
}
