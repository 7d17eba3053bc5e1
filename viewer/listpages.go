// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// serveRoot answers the list of spans or, with a query, a flame graph.
func (h *handler) serveRoot(r *http.Request, params url.Values, f format) (response, error) {
	if params.Get("query") != "" {
		return h.serveProfile(r, params, f)
	}
	q, err := parseSpanQuery(params)
	if err != nil || f == formatHTML {
		return pageResponse(), err
	}
	ctx := r.Context()
	same, err := h.unchanged(ctx, params, f)
	if err != nil || same != nil {
		return response{body: same, contentType: "application/json"}, err
	}
	return h.read(ctx, []answer.Query{{From: q.From, Until: q.Until}}, func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		if f == formatPprof || f == formatFolded {
			return profileMade(a, a.ListedProfile(q), f)
		}
		list, err := a.SpanList(q, params.Get("by"))
		return dataMade(list, f, err)
	})
}

// serveNames answers the table of names.
func (h *handler) serveNames(r *http.Request, params url.Values, f format) (response, error) {
	q, err := parseSpanQuery(params)
	if err != nil {
		return response{}, err
	}
	order, err := parseNameOrder(params)
	if err != nil || f == formatHTML {
		return pageResponse(), err
	}
	if f == formatPprof || f == formatFolded {
		return response{}, answer.BadRequestf("the table of names has no %s form: ask for json or text", f)
	}
	ctx := r.Context()
	same, err := h.unchanged(ctx, params, f)
	if err != nil || same != nil {
		return response{body: same, contentType: "application/json"}, err
	}
	return h.read(ctx, []answer.Query{{From: q.From, Until: q.Until}}, func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		table, err := a.NameTable(q, order)
		return dataMade(table, f, err)
	})
}

// serveFind answers what a text is understood as.
func (h *handler) serveFind(r *http.Request, params url.Values, f format) (response, error) {
	text := strings.TrimSpace(params.Get("text"))
	switch {
	case f != formatJSON && f != formatText:
		return response{}, answer.BadRequestf("what a text is has no %s form: ask for json or text", f)
	case text == "":
		return response{}, answer.BadRequestf("text is missing: give an id, a name, an attribute such as http.route=/cart, a part of an error, or a query")
	case len(text) > answer.MaxFindBytes:
		return response{}, answer.BadRequestf("text has %d bytes, at most %d are looked for: give a part of it", len(text), answer.MaxFindBytes)
	}
	q := answer.Query{}
	var err error
	if q.From, q.Until, err = parseRange(params, "from", "until"); err != nil {
		return response{}, err
	}
	return h.read(r.Context(), []answer.Query{q}, func(a *answer.Reader) (*made, error) {
		a.Ignored(unknown(params))
		found, err := a.Understand(text)
		return dataMade(found, f, err)
	})
}

// unchanged returns the answer to a client that polls a list and has it already, nil if there
// may be something new: such a client waits for its turn only then.
func (h *handler) unchanged(ctx context.Context, params url.Values, f format) ([]byte, error) {
	since := params.Get("since")
	// A list of the time before now changes with the clock.
	byClock := strings.HasPrefix(params.Get("from"), "now") || strings.HasPrefix(params.Get("until"), "now")
	if f != formatJSON || since == "" || byClock || !strings.HasPrefix(since, h.instance) {
		return nil, nil
	}
	view, err := h.source.View(ctx, time.Time{}, time.Time{})
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
