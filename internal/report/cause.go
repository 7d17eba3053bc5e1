// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// apart is the least time between two reports of one cause.
	apart = time.Minute
	// maxCauses is how many causes are told apart. A server's text may be another
	// one each time.
	maxCauses = 64
	// maxCause is how much of an error's first line tells causes apart.
	maxCause = 200
)

// cause stands for the errors whose texts differ in numbers alone.
type cause struct {
	reported time.Time // last
	since    int       // errors that were not reported since then
	newest   error     // of these
}

// limit returns what to report of err, nil if it is too soon; the caller holds r.mu.
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
			text = "" // what they have in common is that there are too many
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

// report returns err with how many there were before it.
func (c *cause) report(err error, now time.Time) error {
	if c.since > 0 {
		err = fmt.Errorf("%w (and %d more like it since %s)", err, c.since, c.reported.Format(time.TimeOnly))
	}
	c.reported, c.since, c.newest = now, 0, nil
	return err
}

// Flush reports what has not been reported because it came within a minute.
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

// forget drops the causes that would be reported again, and reports what is left of
// them; the caller holds r.mu.
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

// rest returns the report of what has not been reported.
func (c *cause) rest(now time.Time) error {
	c.since-- // newest stands for itself
	return c.report(c.newest, now)
}

// causeOf returns the first line of an error with 0 for each number.
func causeOf(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	var b strings.Builder
	inNumber := false
	for _, c := range []byte(line[:min(len(line), maxCause)]) {
		digit := c >= '0' && c <= '9'
		if digit && !inNumber {
			b.WriteByte('0')
		} else if !digit {
			b.WriteByte(c)
		}
		inNumber = digit
	}
	return b.String()
}
