// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
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

// read makes an answer from one view of the source. The view ends with the request.
func (h *handler) read(ctx context.Context, about []answer.Query, respond func(*answer.Reader) (*made, error)) (response, error) {
	status := h.currentStatus()
	m, err := h.make(ctx, about, status, respond)
	if err != nil {
		return response{}, err
	}
	return m.to(status)
}

// maxAnswerTime bounds how long an answer may take. A regular expression on every id of a large
// store takes seconds.
const maxAnswerTime = 30 * time.Second

var errTooLong = fmt.Errorf("the answer takes more than %v: ask for less time, or without regular expressions", maxAnswerTime)

// make makes an answer.
func (h *handler) make(asked context.Context, about []answer.Query, status *answer.Status, respond func(*answer.Reader) (*made, error)) (m *made, err error) {
	ctx, cancel := context.WithTimeout(asked, maxAnswerTime)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil && asked.Err() == nil {
			err = errTooLong
		}
	}()
	from, until := answer.Between(about...)
	view, err := h.source.View(ctx, from, until)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	return respond(answer.NewReader(view, status, h.instance).Within(ctx))
}
