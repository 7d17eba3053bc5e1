// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The units that pprof sample types come in.
const (
	unitNanoseconds = "nanoseconds"
	unitBytes       = "bytes"
	unitCount       = "count"
)

// formatValue writes a value with three digits and a unit that people read.
func formatValue(v int64, unit string) string {
	switch unit {
	case unitNanoseconds:
		return scaled(float64(v), 1000, "ns", "µs", "ms", "s")
	case unitBytes:
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

// formatExpected writes a number of samples that there may be a part of one of.
func formatExpected(n float64) string {
	switch {
	case n >= 10:
		return fmt.Sprintf("%.0f", n)
	case n >= 1:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.2g", n)
}

// oneLine keeps what programs named from moving a terminal's cursor, and from
// turning the direction of what follows.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// plural writes a number and what is counted.
func plural[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
