// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// textColumns is how wide the text forms are, but for queries: those are to be
// copied.
const textColumns = 100

// maxQuoted is how much of what somebody else named a sentence quotes.
const maxQuoted = 80

// clip shortens a text to n columns, at its end.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:max(0, n-1)]) + "…"
}

// clipFunction shortens the name of a function to n columns, at its beginning:
// what tells functions apart stands at the end.
func clipFunction(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return "…" + string(runes[len(runes)-max(0, n-1):])
}

// wrap breaks a text so that it fits into n columns, between words where it can.
func wrap(s string, n int) []string {
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

// timeColumn writes moments in a column of a table. Where they are all of one
// day, that is the column's title.
type timeColumn struct {
	title  string
	layout string
}

func newTimeColumn(times []time.Time) timeColumn {
	const day = "2006-01-02"
	c := timeColumn{title: "start", layout: "15:04:05.000"}
	if len(times) == 0 {
		return c
	}
	c.title = times[0].UTC().Format(day)
	if slices.ContainsFunc(times, func(t time.Time) bool { return t.UTC().Format(day) != c.title }) {
		return timeColumn{title: "start (UTC)", layout: "01-02 15:04:05.000"}
	}
	c.title += " Z"
	return c
}

// width is how many columns it takes.
func (c timeColumn) width() int { return len(c.layout) }

func (c timeColumn) format(t time.Time) string { return t.UTC().Format(c.layout) }

// textRange writes the time between two moments.
func textRange(from, until time.Time) string {
	const day, clock = "2006-01-02", "15:04:05"
	from, until = from.UTC(), until.UTC()
	if from.Format(day) == until.Format(day) {
		return from.Format(day+" "+clock) + " to " + until.Format(clock) + " UTC"
	}
	return from.Format(day+" "+clock) + " to " + until.Format(day+" "+clock) + " UTC"
}
