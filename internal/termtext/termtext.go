// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package termtext writes values, names and times for a terminal: in columns, and
// without control characters.
package termtext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Columns is the width of the text forms. Queries may be longer to allow copying.
const Columns = 100

// MaxQuoted is the maximum number of columns of a quoted name in a sentence.
const MaxQuoted = 80

// Clip shortens a text to n columns, at its end.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:max(0, n-1)]) + "…"
}

// ClipStart shortens a text to n columns, at its beginning: the end of a function's
// name is more specific than its package's path.
func ClipStart(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return "…" + string(runes[len(runes)-max(0, n-1):])
}

// Wrap breaks a text into lines of n columns, between words where possible.
func Wrap(s string, n int) []string {
	var lines []string
	var line []rune
	for field := range strings.FieldsSeq(s) {
		word := []rune(field)
		if len(line) > 0 && len(line)+1+len(word) > n {
			lines, line = append(lines, string(line)), nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, word...)
		for len(line) > n {
			lines, line = append(lines, string(line[:n])), line[n:]
		}
	}
	return append(lines, string(line))
}

// Prose writes a text as lines indented by n columns. The first line begins with name.
func Prose(b *strings.Builder, name string, n int, text string) {
	for _, line := range Wrap(text, Columns-n) {
		fmt.Fprintf(b, "%-*s%s\n", n, name, OneLine(line))
		name = ""
	}
}

// TimeColumn formats the times in one column of a table. If all are on one
// day, the day is the column's title.
type TimeColumn struct {
	Title  string
	layout string
}

// NewTimeColumn returns the column for the times of rows.
func NewTimeColumn[T any](rows []T, at func(T) time.Time) TimeColumn {
	const day = "2006-01-02"
	c := TimeColumn{Title: "start", layout: "15:04:05.000"}
	if len(rows) == 0 {
		return c
	}
	c.Title = at(rows[0]).UTC().Format(day)
	if slices.ContainsFunc(rows, func(row T) bool { return at(row).UTC().Format(day) != c.Title }) {
		return TimeColumn{Title: "start (UTC)", layout: "01-02 15:04:05.000"}
	}
	c.Title += " Z"
	return c
}

// Width returns the number of columns of a time.
func (c TimeColumn) Width() int { return len(c.layout) }

// Format returns a time in the column's format.
func (c TimeColumn) Format(t time.Time) string { return t.UTC().Format(c.layout) }

// TimeRange returns the time from one moment until another.
func TimeRange(from, until time.Time) string {
	const day, clock = "2006-01-02", "15:04:05"
	from, until = from.UTC(), until.UTC()
	if from.Format(day) == until.Format(day) {
		return from.Format(day+" "+clock) + " to " + until.Format(clock) + " UTC"
	}
	return from.Format(day+" "+clock) + " to " + until.Format(day+" "+clock) + " UTC"
}

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
