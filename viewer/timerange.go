// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"errors"
	"net/url"
	"time"
)

// timeRange is [from, until) in time; a zero end is open.
type timeRange struct {
	from, until time.Time
}

// parseRange reads a range from two parameters, which may be missing.
func parseRange(params url.Values, fromName, untilName string, now time.Time) (timeRange, error) {
	var r timeRange
	if text := params.Get(fromName); text != "" {
		t, _, err := parseTime(text, now)
		if err != nil {
			return timeRange{}, badRequestf("%s: %w", fromName, err)
		}
		r.from = t
	}
	if text := params.Get(untilName); text != "" {
		t, unit, err := parseTime(text, now)
		if err != nil {
			return timeRange{}, badRequestf("%s: %w", untilName, err)
		}
		// A span's end that was cut to seconds lies before the end, and
		// maybe before the window that has its samples.
		r.until = t.Add(unit)
	}
	if !r.from.IsZero() && !r.until.IsZero() && r.until.Before(r.from) {
		return timeRange{}, badRequest{err: errors.New(untilName + " lies before " + fromName)}
	}
	return r, nil
}
