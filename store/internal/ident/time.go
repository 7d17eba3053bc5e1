// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ident

import (
	"math"
	"time"
)

// maxSeconds is the last whole second since 1970 whose nanoseconds fit: in 2262. The
// first is as far before 1970.
const maxSeconds = math.MaxInt64/int64(time.Second) - 1

// Latest is the last time that UnixNano returns.
const Latest = maxSeconds * int64(time.Second)

// UnixNano returns a time in nanoseconds since 1970; the nearest that there is for one
// that is too early or too late.
func UnixNano(t time.Time) int64 {
	switch s := t.Unix(); {
	case s < -maxSeconds:
		return -Latest
	case s >= maxSeconds:
		return Latest
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
