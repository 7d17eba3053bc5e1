// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// apart is the least time between two reports of one cause.
	apart = time.Minute
	// maxCauses bounds the causes. A server may return another text each time.
	maxCauses = 64
	// maxCause is how many bytes of an error's first line distinguish causes, after the ids
	// are folded; maxLine is how many are folded.
	maxCause, maxLine = 200, 1000
)

// ids matches UUIDs and runs of hexadecimal digits with a decimal digit: numbers and ids of
// requests, traces and pods.
var ids = regexp.MustCompile(`(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-f]*[0-9][0-9a-f]*`)

// cause is a set of errors with texts that differ only in ids.
type cause struct {
	reported time.Time // the last time
	since    int       // errors without a report since then
	newest   error     // the last of them
}

// limit returns the report for err, nil if it is too soon; the caller holds r.mu.
func (r *Reporter) limit(err error, now time.Time) error {
	text := causeOf(err)
	c := r.causes[text]
	if c == nil {
		if r.causes == nil {
			r.causes = make(map[string]*cause)
		}
		if len(r.causes) >= maxCauses {
			r.forget(now)
		}
		if len(r.causes) >= maxCauses {
			text = "" // one cause for all errors beyond the bound
		}
		if c = r.causes[text]; c == nil {
			r.causes[text] = &cause{reported: now}
			return err
		}
	}
	if now.Sub(c.reported) < apart {
		c.since++
		c.newest = err
		return nil
	}
	return c.report(err, now)
}

// report returns err with the number of errors before it.
func (c *cause) report(err error, now time.Time) error {
	if c.since > 0 {
		err = fmt.Errorf("%w (and %d more like it since %s)", err, c.since, c.reported.Format(time.TimeOnly))
	}
	c.reported, c.since, c.newest = now, 0, nil
	return err
}

// Flush reports the errors that were held back because they came within a minute.
func (r *Reporter) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, text := range slices.Sorted(maps.Keys(r.causes)) {
		if c := r.causes[text]; c.since > 0 {
			r.add(c.rest(now))
		}
	}
}

// forget drops causes without a report in the last minute, and reports the errors held back
// for them; the caller holds r.mu.
func (r *Reporter) forget(now time.Time) {
	for text, c := range r.causes {
		if now.Sub(c.reported) < apart {
			continue
		}
		if c.since > 0 {
			r.add(c.rest(now))
		}
		delete(r.causes, text)
	}
}

// rest returns the report of the errors held back.
func (c *cause) rest(now time.Time) error {
	c.since-- // newest is reported itself
	return c.report(c.newest, now)
}

// causeOf returns the first line of an error with 0 for each number and id.
func causeOf(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = ids.ReplaceAllString(line[:min(len(line), maxLine)], "0")
	return line[:min(len(line), maxCause)]
}
