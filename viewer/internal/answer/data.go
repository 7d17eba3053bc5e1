// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

// Data is an answer of a page that tells how the profiler is. One that is kept tells each
// client how it is now.
type Data interface {
	Text() string
	// WithoutStatus returns what to encode as JSON beside the profiler's status, and that
	// status, nil where the answer tells none. It does not change the answer itself.
	WithoutStatus() (rest any, status *Status)
	// Lasts reports whether it stays the same while spans run, as it is about what came to
	// the source alone.
	Lasts() bool
}

// WithoutStatus implements Data.
func (p *Profile) WithoutStatus() (any, *Status) {
	rest := *p
	rest.Status = nil
	return &rest, p.Status
}

// WithoutStatus implements Data.
func (l *SpanList) WithoutStatus() (any, *Status) {
	rest := *l
	rest.Status = nil
	return &rest, l.Status
}

// WithoutStatus implements Data.
func (c *Comparison) WithoutStatus() (any, *Status) {
	rest := *c
	rest.Status = nil
	return &rest, c.Status
}

// WithoutStatus implements Data. A time line tells no status.
func (t *Timeline) WithoutStatus() (any, *Status) { return t, nil }

// Lasts implements Data. What is empty may say when samples come.
func (p *Profile) Lasts() bool { return p.Empty == "" && p.Span == nil && len(p.Trace) == 0 }

// Lasts implements Data.
func (l *SpanList) Lasts() bool { return false }

// Lasts implements Data.
func (c *Comparison) Lasts() bool { return c.Left.Lasts() && c.Right.Lasts() }

// Lasts implements Data.
func (t *Timeline) Lasts() bool { return true }

// Running reports whether spans are running, of which an answer may tell how long.
func (r *Reader) Running() bool { return r.stats.SpansRunning > 0 }

// Renewed returns the status of an answer with what is new for each request, as a later
// status has it. It keeps the message that the answer was made with.
func (s *Status) Renewed(later *Status) *Status {
	if s == nil || later == nil {
		return s
	}
	with := *s
	with.Now, with.Counters = later.Now, later.Counters
	return &with
}
