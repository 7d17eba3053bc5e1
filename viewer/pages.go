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
	turns := h.turns(q)
	if turns == nil && page == "profile" && f != formatPprof && f != formatFolded {
		turns = h.lists // What a span's time went to takes a look at those below it.
	}
	return h.read(r.Context(), turns, question(page, params, f), func(a *answer.Reader) (*made, error) {
		a.About(q)
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
	return h.read(r.Context(), h.turns(left, right), question("comparison", params, f), func(a *answer.Reader) (*made, error) {
		a.About(left, right)
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

// serveLog answers the log.
func (h *handler) serveLog(r *http.Request, params url.Values, f format) (response, error) {
	switch f {
	case formatHTML:
		return pageResponse(), nil
	case formatPprof, formatFolded:
		return response{}, answer.BadRequestf("the log is not a profile and has no %s form", f)
	}
	// What it tells of the profiler is of the moment.
	return h.read(r.Context(), nil, "", func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		l, err := a.Log()
		resp, err := dataResponse(l, f, err)
		return responseMade(resp, err, made{})
	})
}
