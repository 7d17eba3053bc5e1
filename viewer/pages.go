// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net/http"
	"net/url"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// serveProfile answers the profile that a query selects.
func (h *handler) serveProfile(r *http.Request, params url.Values, f format) (response, error) {
	return h.serveQuery(r, params, f, "profile", func(a *answer.Reader, q answer.Query) (answer.Data, error) {
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
	page := "timeline"
	if process {
		page = "timeline of the process" // its query is not the only one that it may become
	}
	return h.serveQuery(r, params, f, page, func(a *answer.Reader, q answer.Query) (answer.Data, error) {
		if process {
			q = a.CPUTime(q)
		}
		return a.Timeline(q)
	})
}

// serveQuery answers what a query selects: in the formats of profiles the samples, in the
// others what data makes of them.
func (h *handler) serveQuery(r *http.Request, params url.Values, f format, page string, data func(*answer.Reader, answer.Query) (answer.Data, error)) (response, error) {
	q, err := parseQuery(params, "query", "from", "until")
	if err != nil || f == formatHTML {
		return pageResponse(), err
	}
	return h.read(r.Context(), []answer.Query{q}, func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		if f == formatPprof || f == formatFolded {
			return profileMade(a, q, f)
		}
		d, err := data(a, q)
		return dataMade(d, f, err)
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
	return h.read(r.Context(), []answer.Query{left, right}, func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		if f == formatPprof {
			p, err := a.PprofDiff(left, right)
			resp, err := pprofResponse(p, err)
			return responseMade(resp, err, made{})
		}
		c, err := a.Compare(left, right)
		if f == formatFolded && err == nil {
			return responseMade(textResponse(c.Folded()), nil, made{})
		}
		return dataMade(c, f, err)
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
		return h.serveQuery(r, params, f, "graph", func(a *answer.Reader, q answer.Query) (answer.Data, error) {
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
	return h.read(r.Context(), []answer.Query{left, right}, func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		part, err := a.GraphAgainst(left, right, g)
		return dataMade(part, f, err)
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
	// What it tells of the profiler is of the moment.
	return h.read(r.Context(), nil, func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		l, err := a.Log()
		resp, err := dataResponse(l, f, err)
		return responseMade(resp, err, made{})
	})
}
