// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net/http"
	"net/url"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// serveWaits answers the exact waits of a span, or of the spans of a name.
func (h *handler) serveWaits(r *http.Request, params url.Values, f format) (response, error) {
	q, err := parseQuery(params, "query", "from", "until")
	if err != nil || f == formatHTML {
		return pageResponse(), err
	}
	if f != formatPprof {
		return response{}, answer.BadRequestf("exact waits by themselves have no %s form, only pprof: with format=json and format=text, ./?query= tells them with the rest of the span", f)
	}
	return h.read(r.Context(), nil, func(a *answer.Reader) (*made, error) {
		p, err := a.WaitsPprof(q)
		resp, err := pprofResponse(p, err)
		return responseMade(resp, err, made{})
	})
}
