// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// ReportTo makes the client report the first call that the server does not answer, and the
// first answer after it. An answer of 500 and above counts as none. Call it before the
// first call.
func (c *Client) ReportTo(report func(text string)) {
	c.http.Transport = &reporting{next: c.http.Transport, report: func(text string) {
		report(c.name + ": " + c.redactor.Clean(text))
	}}
}

// reporting is a transport that reports whether its server is away.
type reporting struct {
	next   http.RoundTripper
	report func(string)
	away   atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (t *reporting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	switch {
	case r.Context().Err() != nil: // the page was closed
	case err == nil && answer.StatusCode < http.StatusInternalServerError:
		if t.away.Swap(false) {
			t.report("it answers again")
		}
	case !t.away.Swap(true):
		text := "it answers "
		if err != nil {
			text += fmt.Sprint("nothing: ", err)
		} else {
			text += answer.Status
		}
		t.report(text + "; pages show errors until it answers")
	}
	return answer, err
}
