// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		in   string
		want time.Time
		unit time.Duration
	}{
		{"now", now, 0},
		{"now-1h", now.Add(-time.Hour), 0},
		{"now-7d", now.AddDate(0, 0, -7), 0},
		{"1700000000", time.Unix(1700000000, 0), time.Second},
		{"1700000000123", time.UnixMilli(1700000000123), time.Millisecond},
		{"1700000000123456", time.UnixMicro(1700000000123456), time.Microsecond},
		{"1700000000123456789", time.Unix(1700000000, 123456789), time.Nanosecond},
		{"2026-11-01T12:00:00.5Z", now.Add(500 * time.Millisecond), 0},
	} {
		got, unit, err := parseTime(test.in, now)
		if err != nil || !got.Equal(test.want) || unit != test.unit {
			t.Errorf("%q: got %v in units of %v and error %v, want %v in units of %v", test.in, got, unit, err, test.want, test.unit)
		}
	}
	for _, in := range []string{"yesterday", "-5", "now+1h", "now-", "now--1h", "now-xd", "99999999999999999999", "nowhere"} {
		if got, _, err := parseTime(in, now); err == nil {
			t.Errorf("%q: got %v, want an error", in, got)
		}
	}
}
