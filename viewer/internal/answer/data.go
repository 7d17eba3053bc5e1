// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

// Data is an answer of a page that tells how the profiler is. One that is kept tells each
// client how it is now.
type Data interface {
	Text() string
	// Now returns the answer for a client that asks when the profiler's status is another.
	// It does not change the answer itself.
	Now(status *Status) Data
	// Lasts reports whether it stays the same while spans run, as it is about what came to
	// the source alone.
	Lasts() bool
}

// Now implements Data.
func (p *Profile) Now(status *Status) Data {
	with := *p
	with.Status = p.Status.now(status)
	return &with
}

// Now implements Data.
func (l *SpanList) Now(status *Status) Data {
	with := *l
	with.Status = l.Status.now(status)
	return &with
}

// Now implements Data.
func (c *Comparison) Now(status *Status) Data {
	with := *c
	with.Status = c.Status.now(status)
	return &with
}

// Now implements Data. A time line tells no status.
func (t *Timeline) Now(*Status) Data { return t }

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

// now returns the status with what is new for each request.
func (s *Status) now(status *Status) *Status {
	if s == nil || status == nil {
		return s
	}
	with := *s
	with.Now, with.Counters = status.Now, status.Counters
	return &with
}

// Now implements Data. A part of a graph tells no status.
func (g *Graph) Now(*Status) Data { return g }

// Lasts implements Data.
func (g *Graph) Lasts() bool { return true }

// Now implements Data. What a search found tells no status.
func (f *Found) Now(*Status) Data { return f }

// Lasts implements Data.
func (f *Found) Lasts() bool { return true }
