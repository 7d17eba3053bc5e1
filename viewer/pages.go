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

// read makes an answer from one view of the source, when it is its turn. The view ends with
// the request.
//
// A request whose answer others may get too is its question: equal questions have equal
// answers in one generation of the source. "" is of no use to others.
func (h *handler) read(ctx context.Context, turns turns, question string, respond func(*answer.Reader) (*made, error)) (response, error) {
	status := h.currentStatus()
	source, ok := h.source.(generational)
	var m *made
	var err error
	if question == "" || !ok {
		m, _, err = h.make(ctx, turns, status, nil, respond)
	} else {
		m, err = h.shared.get(ctx, question, generationOf(source.Generation(), status), func(ctx context.Context, opened opener) (*made, bool, error) {
			return h.make(ctx, turns, h.currentStatus(), opened, respond)
		})
	}
	if err != nil {
		return response{}, err
	}
	return m.to(status)
}

// make makes an answer, and reports whether it may be kept. opened may have it.
func (h *handler) make(ctx context.Context, turns turns, status *answer.Status, opened opener, respond func(*answer.Reader) (*made, error)) (m *made, keep bool, err error) {
	leave, err := turns.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	view, err := h.source.View(ctx)
	if err != nil {
		return nil, false, err
	}
	defer view.Close()
	if of, ok := view.(generational); ok && opened != nil {
		if m := opened(generationOf(of.Generation(), status)); m != nil {
			return m, false, nil
		}
	}
	a := answer.NewReader(view, status, h.instance).Within(ctx)
	if m, err = respond(a); err != nil {
		return nil, false, err
	}
	return m, !a.Running() || m.lasts, nil
}

// question returns what a request asks for, "" if that changes with the clock.
func question(page string, params url.Values, f format) string {
	asked := url.Values{}
	for key, values := range params {
		if len(values) > 0 && strings.HasPrefix(values[0], "now") {
			return ""
		}
		if key != "format" && key != "since" {
			asked[key] = values
		}
	}
	return page + " " + string(f) + " " + asked.Encode()
}

// turns returns what a request has to wait for: one at a time may look at all samples that
// the source holds. A query for one id need not wait, for an index leads to its samples,
// unless its trace is named too: the answer may be the trace's.
func (h *handler) turns(queries ...answer.Query) turns {
	if slices.ContainsFunc(queries, func(q answer.Query) bool {
		id, _ := q.SpanID()
		_, ofTrace := q.Value(labelkey.TraceID)
		return id == "" || ofTrace || q.OnAttributes()
	}) {
		return h.graphs
	}
	return nil
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
	if f == formatJSON && since != "" && !byClock && h.mayBeUnchanged(since) {
		// A client that polls waits for its turn only if there is something new.
		same, err := h.unchanged(ctx, since)
		if err != nil || same != nil {
			return response{body: same, contentType: "application/json"}, err
		}
	}
	turns := h.lists
	if f == formatPprof || f == formatFolded {
		turns = h.graphs
	}
	return h.read(ctx, turns, question("spans", params, f), func(a *answer.Reader) (*made, error) {
		a.About(answer.Query{From: q.From, Until: q.Until})
		a.Ignored(unknown(params))
		if f == formatPprof || f == formatFolded {
			return profileMade(a, a.ListedProfile(q), f)
		}
		list, err := a.SpanList(q, params.Get("by"))
		return dataMade(list, f, err)
	})
}

// mayBeUnchanged reports, without a view, whether since may be the generation of the source.
func (h *handler) mayBeUnchanged(since string) bool {
	source, ok := h.source.(generational)
	return strings.HasPrefix(since, h.instance) && (!ok || since == answer.Generation(h.instance, source.Generation()))
}

// unchanged returns the answer to a client that has the list of spans, nil if there is
// something new.
func (h *handler) unchanged(ctx context.Context, since string) ([]byte, error) {
	view, err := h.source.View(ctx)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	same := answer.NewReader(view, h.currentStatus(), h.instance).Unchanged(since)
	if same == nil {
		return nil, nil
	}
	resp, err := jsonResponse(same)
	return resp.body, err
}

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
	return h.read(r.Context(), h.turns(q), question(page, params, f), func(a *answer.Reader) (*made, error) {
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
	return h.read(r.Context(), h.turns(left, right), question("graph", params, f), func(a *answer.Reader) (*made, error) {
		a.About(left, right)
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
	return h.read(r.Context(), nil, "", func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		l, err := a.Log()
		resp, err := dataResponse(l, f, err)
		return responseMade(resp, err, made{})
	})
}
