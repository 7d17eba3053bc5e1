// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// parseRange reads the time [from, until) from two parameters. A missing one leaves that
// side open.
func parseRange(params url.Values, fromName, untilName string) (from, until time.Time, err error) {
	now := time.Now()
	if text := params.Get(fromName); text != "" {
		if from, _, err = parseTime(text, now); err != nil {
			return from, until, answer.BadRequestf("%s: %w", fromName, err)
		}
	}
	if text := params.Get(untilName); text != "" {
		t, unit, err := parseTime(text, now)
		if err != nil {
			return from, until, answer.BadRequestf("%s: %w", untilName, err)
		}
		// A span's end that was cut to seconds lies before the end, and maybe
		// before the window that has its samples.
		until = t.Add(unit)
	}
	if !from.IsZero() && !until.IsZero() && until.Before(from) {
		return from, until, answer.BadRequestf("%s lies before %s", untilName, fromName)
	}
	return from, until, nil
}

// parseTime reads a time in the forms of continuous profilers: unix seconds,
// milliseconds, microseconds or nanoseconds, told apart by their magnitude; RFC 3339;
// now, or now-1h. It also returns the length of the unit: 1700000000 is a whole second,
// not its first instant.
func parseTime(text string, now time.Time) (time.Time, time.Duration, error) {
	if ago, ok := strings.CutPrefix(text, "now"); ok {
		if ago == "" {
			return now, 0, nil
		}
		if d, err := parseAgo(ago); err == nil {
			return now.Add(-d), 0, nil
		}
		return time.Time{}, 0, badTime(text)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch {
		case n < 1e11: // Until the year 5138.
			return time.Unix(n, 0), time.Second, nil
		case n < 1e14:
			return time.UnixMilli(n), time.Millisecond, nil
		case n < 1e17:
			return time.UnixMicro(n), time.Microsecond, nil
		}
		return time.Unix(0, n), time.Nanosecond, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() > 9999 {
		return time.Time{}, 0, badTime(text)
	}
	return t, 0, nil
}

// parseAgo reads "-1h", "-90s" or "-7d".
func parseAgo(text string) (time.Duration, error) {
	text, ok := strings.CutPrefix(text, "-")
	if !ok {
		return 0, badTime(text)
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		return 0, badTime(text)
	}
	return d, err
}

func badTime(text string) error {
	return fmt.Errorf("time %q: expected unix seconds, milliseconds or nanoseconds, RFC 3339, now, or now-1h", text)
}
