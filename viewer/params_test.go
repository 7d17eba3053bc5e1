// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// The times in an address are those that the source is asked for. An end that is given in
// a unit lasts until the end of the unit.
func TestTimesInAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now() // It stands still here.
		var asked store.SpanQuery
		h := viewer.Handler(&fileSource{asked: func(question any) {
			if q, ok := question.(store.SpanQuery); ok && !q.Names {
				asked = q
			}
		}})
		for _, test := range []struct {
			in   string
			want time.Time
			unit time.Duration
		}{
			{"now", now, 0},
			{"now-1h", now.Add(-time.Hour), 0},
			{"1700000000", time.Unix(1700000000, 0), time.Second},
			{"1700000000123", time.UnixMilli(1700000000123), time.Millisecond},
			{"1700000000123456789", time.Unix(1700000000, 123456789), time.Nanosecond},
			{"2026-11-01T12:00:00.5Z", time.Date(2026, 11, 1, 12, 0, 0, 5e8, time.UTC), 0},
		} {
			if w := get(t, h, target("/", "format", "text", "from", test.in, "until", test.in)); w.Code != http.StatusOK {
				t.Errorf("%q: status %d: %s", test.in, w.Code, w.Body)
			}
			if !asked.From.Equal(test.want) || !asked.Until.Equal(test.want.Add(test.unit)) {
				t.Errorf("%q: asked for %v until %v, want %v and %v more", test.in, asked.From, asked.Until, test.want, test.unit)
			}
		}
		for _, in := range []string{"yesterday", "-5", "now+1h", "now-", "now--1h", "99999999999999999999", "1700000000000000", "nowhere"} {
			for _, name := range []string{"from", "until"} {
				if w := get(t, h, target("/", "format", "text", name, in)); w.Code != http.StatusBadRequest {
					t.Errorf("%s %q: status %d, want an error", name, in, w.Code)
				}
			}
		}
	})
}
