// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ident

import (
	"math"
	"time"
)

// The times that nanoseconds since 1970 can tell apart: from 1677 to 2262.
var (
	earliest = time.Unix(0, math.MinInt64)
	latest   = time.Unix(0, math.MaxInt64)
)

// UnixNano returns a time in nanoseconds since 1970; the nearest that there is for one
// that is too early or too late.
func UnixNano(t time.Time) int64 {
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// Elapsed returns the nanoseconds from one time to another: 0 where that is not later, and
// the most that there are where they are more.
func Elapsed(from, to int64) int64 {
	switch {
	case to <= from:
		return 0
	case to-from < 0:
		return math.MaxInt64
	}
	return to - from
}
