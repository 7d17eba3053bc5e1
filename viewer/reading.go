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
	"strings"
	"time"

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

// read makes an answer from one view of the source, when it is its turn. The view ends with the
// request.
//
// Equal questions have equal answers in one generation of the source, and share one. The
// question is "" for an answer that cannot be shared.
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

// maxAnswerTime bounds how long an answer may take. A regular expression on every id of a large
// store takes seconds.
const maxAnswerTime = 30 * time.Second

var errTooLong = fmt.Errorf("the answer takes more than %v: ask for less time, or without regular expressions", maxAnswerTime)

// make makes an answer, and reports whether it may be kept. opened may have it.
func (h *handler) make(ctx context.Context, turns turns, status *answer.Status, opened opener, respond func(*answer.Reader) (*made, error)) (m *made, keep bool, err error) {
	leave, err := turns.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	asked := ctx
	ctx, cancel := context.WithTimeout(asked, maxAnswerTime)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil && asked.Err() == nil {
			err = errTooLong
		}
	}()
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
	a := answer.NewReader(view, status, h.instance).Within(ctx).WithCode(&h.code)
	if m, err = respond(a); err != nil {
		return nil, false, err
	}
	return m, !a.Running() || m.lasts, nil
}

// readBy has the parameters that the page keeps in its address and sends with each question.
// Each has the pages with answers that depend on it.
var readBy = map[string][]string{
	"view": nil, "per": nil, "leftSearch": nil, "leftZoom": nil,
	"search": nil, "zoom": nil,
	"function": {"profile"},
	"filter":   {"spans", "names"},
	"order":    {"spans"}, "by": {"spans"},
	"sort": {"names"}, "dir": {"names"},
}

// question returns the question of a request, "" if its answer changes with the clock.
func question(page string, params url.Values, f format) string {
	asked := url.Values{}
	for key, values := range params {
		if pages, ok := readBy[key]; ok && !slices.Contains(pages, page) {
			continue
		}
		if len(values) > 0 && strings.HasPrefix(values[0], "now") {
			return ""
		}
		if key != "format" && key != "since" {
			asked[key] = values
		}
	}
	return page + " " + string(f) + " " + asked.Encode()
}
