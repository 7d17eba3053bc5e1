// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package termtext writes values, names and times for a terminal: in columns, and
// without control characters.
package termtext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The units that pprof sample types come in.
const (
	Nanoseconds = "nanoseconds"
	Bytes       = "bytes"
	Count       = "count"
)

// Value returns a value with three digits and a readable unit.
func Value(v int64, unit string) string {
	switch unit {
	case Nanoseconds:
		return scaled(float64(v), 1000, "ns", "µs", "ms", "s")
	case Bytes:
		return scaled(float64(v), 1024, "B", "KiB", "MiB", "GiB", "TiB")
	}
	return strconv.FormatInt(v, 10)
}

func scaled(v, step float64, units ...string) string {
	i := 0
	for ; i < len(units)-1 && (v >= step || v <= -step); i++ {
		v /= step
	}
	switch {
	case i == 0 || v >= 100:
		return fmt.Sprintf("%.0f %s", v, units[i])
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, units[i])
	}
	return fmt.Sprintf("%.2f %s", v, units[i])
}

// OneLine replaces characters in s that would move a terminal's cursor or reverse the
// following text.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Plural returns a number and what is counted: "2 spans".
func Plural[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Percent returns part as a share of total.
func Percent(part, total int64) string {
	if total == 0 {
		return "0.0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(total))
}
