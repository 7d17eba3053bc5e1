// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"math"
	"strings"
)

// units are the units of time and memory in profiles, in lower case. They lack the s of a
// plural.
var units = map[string]struct {
	base   string
	factor int64
}{
	"n": {nanoseconds, 1}, "nanosecond": {nanoseconds, 1}, "u": {nanoseconds, 1e3}, "µ": {nanoseconds, 1e3}, "μ": {nanoseconds, 1e3}, "microsecond": {nanoseconds, 1e3},
	"m": {nanoseconds, 1e6}, "millisecond": {nanoseconds, 1e6}, "": {nanoseconds, 1e9}, "second": {nanoseconds, 1e9}, "sec": {nanoseconds, 1e9},
	"b": {bytes, 1}, "byte": {bytes, 1}, "kb": {bytes, 1 << 10}, "kib": {bytes, 1 << 10}, "kilobyte": {bytes, 1 << 10}, "kibibyte": {bytes, 1 << 10},
	"mb": {bytes, 1 << 20}, "mib": {bytes, 1 << 20}, "megabyte": {bytes, 1 << 20}, "mebibyte": {bytes, 1 << 20},
	"gb": {bytes, 1 << 30}, "gib": {bytes, 1 << 30}, "gigabyte": {bytes, 1 << 30}, "gibibyte": {bytes, 1 << 30},
}

// Unit returns nanoseconds or bytes for a unit of time or memory, and the factor for its
// values. Any other unit is returned unchanged, with the factor 1.
// As in google/pprof, a kilobyte has 1024 bytes.
func Unit(unit string) (base string, factor int64) {
	if unit == nanoseconds || unit == bytes || unit == count || unit == "" {
		return unit, 1
	}
	if u, ok := units[strings.TrimSuffix(strings.ToLower(unit), "s")]; ok {
		return u.base, u.factor
	}
	return unit, 1
}

// Mul returns v times factor, which is positive. It saturates.
func Mul(v, factor int64) int64 {
	switch {
	case v > math.MaxInt64/factor:
		return math.MaxInt64
	case v < -math.MaxInt64/factor:
		return -math.MaxInt64
	}
	return v * factor
}

// add returns the sum of a and b. It saturates.
func add(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < -math.MaxInt64-b:
		return -math.MaxInt64
	}
	return a + b
}
