// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// page reads what all pages have: the parameters and the format.
func (h *handler) page(fallback format, serve func(*http.Request, url.Values, format) (response, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// URL.Query drops what it cannot parse, such as a value with an unescaped
		// semicolon.
		params, malformed := url.ParseQuery(r.URL.RawQuery)
		f, err := parseFormat(params.Get("format"), fallback)
		if malformed != nil {
			// params has the parts that can be parsed.
			writeError(w, r, cmp.Or(f, fallback), answer.BadRequestf("malformed URL: %w: in a value, write a semicolon as %%3B and a percent sign as %%25", malformed))
			return
		}
		if err != nil {
			writeError(w, r, formatText, err)
			return
		}
		resp, err := serve(r, params, f)
		if err != nil {
			writeError(w, r, f, err)
			return
		}
		resp.write(w, r, http.StatusOK)
	}
}

// read makes an answer from one view of the source, which ends with the request. With
// inTurn it waits for its turn before it opens the view.
func (h *handler) read(ctx context.Context, inTurn bool, respond func(*answer.Reader) (response, error)) (response, error) {
	if inTurn {
		leave, err := h.enter(ctx)
		if err != nil {
			return response{}, err
		}
		defer leave()
	}
	status := h.currentStatus()
	view, err := h.source.View(ctx)
	if err != nil {
		return response{}, err
	}
	defer view.Close()
	return respond(answer.NewReader(view, status, h.instance).Within(ctx))
}

// heavy reports whether a request has to wait for its turn: one at a time may look at
// everything that the source holds, for the host program comes first. A query for one id
// need not wait, for an index leads to its samples, unless its trace is named too: the
// answer may be the trace's.
func heavy(queries ...answer.Query) bool {
	return slices.ContainsFunc(queries, func(q answer.Query) bool {
		id, _ := q.SpanID()
		_, ofTrace := q.Value(labelkey.TraceID)
		return id == "" || ofTrace || q.OnAttributes()
	})
}

// enter waits for the turn of a request that looks at everything, and fails if ctx ends
// before.
func (h *handler) enter(ctx context.Context) (leave func(), err error) {
	// A client that has gone away needs no answer, and select may take either case.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case h.heavy <- struct{}{}:
		return func() { <-h.heavy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveRoot answers the list of spans or, with a query, a flame graph.
func (h *handler) serveRoot(r *http.Request, params url.Values, f format) (response, error) {
	if params.Get("query") != "" {
		return h.serveProfile(r, params, f)
	}
	q, err := parseSpanQuery(params)
	if err != nil || f == formatHTML {
		return pageResponse(), err
	}
	ctx, since := r.Context(), params.Get("since")
	// A list of the time before now changes with the clock.
	byClock := strings.HasPrefix(params.Get("from"), "now") || strings.HasPrefix(params.Get("until"), "now")
	// A client that polls waits for its turn only if there is something new.
	polls := f == formatJSON && since != "" && !byClock
	return h.read(ctx, !polls, func(a *answer.Reader) (response, error) {
		a.About(answer.Query{From: q.From, Until: q.Until})
		a.Ignored(unknown(params))
		if polls {
			if same := a.Unchanged(since); same != nil {
				return jsonResponse(same)
			}
			leave, err := h.enter(ctx)
			if err != nil {
				return response{}, err
			}
			defer leave()
		}
		if f == formatPprof || f == formatFolded {
			return profileResponse(a, a.ListedProfile(q), f)
		}
		list, err := a.SpanList(q, params.Get("by"))
		return dataResponse(list, f, err)
	})
}

// serveProfile answers the profile that a query selects.
func (h *handler) serveProfile(r *http.Request, params url.Values, f format) (response, error) {
	return h.serveQuery(r, params, f, func(a *answer.Reader, q answer.Query) (texter, error) {
		return a.Profile(q, params.Get("function"))
	})
}

// serveTimeline answers what a query selects over time; without a query, the CPU time of
// the process. The script of the page goes on to the page that has this time line.
func (h *handler) serveTimeline(r *http.Request, params url.Values, f format) (response, error) {
	process := params.Get("query") == ""
	if process {
		params.Set("query", flameql.Query{Type: flameql.CPU}.String())
	}
	return h.serveQuery(r, params, f, func(a *answer.Reader, q answer.Query) (texter, error) {
		if process {
			q = a.CPUTime(q)
		}
		return a.Timeline(q)
	})
}

// serveQuery answers what a query selects: in the formats of profiles the samples, in the
// others what data makes of them.
func (h *handler) serveQuery(r *http.Request, params url.Values, f format, data func(*answer.Reader, answer.Query) (texter, error)) (response, error) {
	q, err := parseQuery(params, "query", "from", "until")
	if err != nil || f == formatHTML {
		return pageResponse(), err
	}
	return h.read(r.Context(), heavy(q), func(a *answer.Reader) (response, error) {
		a.About(q)
		a.Ignored(unknown(params))
		if f == formatPprof || f == formatFolded {
			return profileResponse(a, q, f)
		}
		d, err := data(a, q)
		return dataResponse(d, f, err)
	})
}

// serveComparison answers two profiles and how they differ.
func (h *handler) serveComparison(r *http.Request, params url.Values, f format) (response, error) {
	left, err := parseQuery(params, "leftQuery", "leftFrom", "leftUntil")
	if err != nil {
		return response{}, err
	}
	right, err := parseQuery(params, "rightQuery", "rightFrom", "rightUntil")
	if err != nil {
		return response{}, err
	}
	if err := answer.Comparable(left, right); err != nil || f == formatHTML {
		return pageResponse(), err
	}
	return h.read(r.Context(), heavy(left, right), func(a *answer.Reader) (response, error) {
		a.About(left, right)
		a.Ignored(unknown(params))
		if f == formatPprof {
			p, err := a.PprofDiff(left, right)
			return pprofResponse(p, err)
		}
		c, err := a.Compare(left, right)
		if f == formatFolded && err == nil {
			return textResponse(c.Folded()), nil
		}
		return dataResponse(c, f, err)
	})
}

// serveGraph answers a part of one of the page's graphs, or the functions of a search.
func (h *handler) serveGraph(r *http.Request, params url.Values, f format) (response, error) {
	if f != formatJSON && f != formatText {
		return response{}, answer.BadRequestf("a part of a graph has no %s form: ask for json or text", f)
	}
	g := answer.GraphQuery{Zoom: params.Get("zoom"), Search: params.Get("search"), Function: params.Get("function")}
	of := params.Get("of")
	switch of {
	case "", "callers", "functions", "right":
	case "callees":
		g.Callees = true
	default:
		return response{}, answer.BadRequestf("of %q: known are callers and callees of function=, functions, and right of a comparison", of)
	}
	if of != "right" {
		return h.serveQuery(r, params, f, func(a *answer.Reader, q answer.Query) (texter, error) {
			if of == "functions" {
				return a.Find(q, g.Search)
			}
			return a.Graph(q, g)
		})
	}
	left, err := parseQuery(params, "leftQuery", "leftFrom", "leftUntil")
	if err != nil {
		return response{}, err
	}
	right, err := parseQuery(params, "rightQuery", "rightFrom", "rightUntil")
	if err == nil {
		err = answer.Comparable(left, right)
	}
	if err != nil {
		return response{}, err
	}
	return h.read(r.Context(), heavy(left, right), func(a *answer.Reader) (response, error) {
		a.About(left, right)
		part, err := a.GraphAgainst(left, right, g)
		return dataResponse(part, f, err)
	})
}

// serveLog answers the log.
func (h *handler) serveLog(r *http.Request, params url.Values, f format) (response, error) {
	switch f {
	case formatHTML:
		return pageResponse(), nil
	case formatPprof, formatFolded:
		return response{}, answer.BadRequestf("the log is not a profile and has no %s form", f)
	}
	return h.read(r.Context(), false, func(a *answer.Reader) (response, error) {
		a.Ignored(unknown(params))
		l, err := a.Log()
		return dataResponse(l, f, err)
	})
}
