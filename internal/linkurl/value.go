// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package linkurl

import (
	"strconv"
	"strings"
	"time"
)

// Kind is a value that a URL can have. Times are in nanoseconds since 1970.
type Kind uint8

// The values.
const (
	SpanID Kind = iota
	TraceID
	Service
	SpanName
	Start
	End
	BaselineStart
	Baseline // a query
	// otherTime is a time that only templates of programs have.
	otherTime
)

// value is a value of a URL. For otherTime it is the start, or the end, moved by shift and
// counted in unit since 1970.
type value struct {
	what  Kind
	end   bool
	shift time.Duration
	unit  time.Duration
}

const (
	idLen, traceIDLen, nanosLen = 16, 32, 20
	textRoom                    = 48
)

// windowReach is how far a profile's window can reach beyond a span with samples
// in it, on each side. Profilers' windows last 10 to 15 s, and up to a minute where
// somebody set it.
const windowReach = time.Minute

// placeholders returns what a template of a program can name.
func placeholders() map[string]value {
	all := map[string]value{
		"span_id":   {what: SpanID},
		"trace_id":  {what: TraceID},
		"service":   {what: Service},
		"span_name": {what: SpanName},
	}
	for unit, length := range map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "ns": time.Nanosecond} {
		all["from_"+unit] = value{what: otherTime, unit: length}
		all["to_"+unit] = value{what: otherTime, unit: length, end: true}
		all["window_from_"+unit] = value{what: otherTime, unit: length, shift: -windowReach}
		all["window_to_"+unit] = value{what: otherTime, unit: length, end: true, shift: windowReach}
	}
	// As our own page's URLs have them: the digits are made once for all URLs of a span.
	all["from_ns"], all["to_ns"] = value{what: Start}, value{what: End}
	return all
}

func (v value) room() int {
	switch v.what {
	case SpanID:
		return idLen
	case TraceID:
		return traceIDLen
	case SpanName, Baseline:
		return textRoom
	default:
		return nanosLen
	}
}

// baselineReach is how far before the span's start its baseline begins.
const baselineReach = time.Hour

// Span has the values of one span. Texts are escaped.
type Span struct {
	ID, TraceID string
	Name        string // the value of the label span_name
	Baseline    string // the query of the span's baseline

	start, end time.Time
	// The digits of the times, in arrays: a string would be an allocation each.
	startDigits, endDigits, baselineDigits nanos
}

// SetTimes sets when the span started and ended.
func (s *Span) SetTimes(start, end time.Time) {
	s.start, s.end = start, end
	s.startDigits.set(start)
	s.endDigits.set(end)
	s.baselineDigits.n = 0
}

// baselineStart returns the digits of the baseline's start, which not every template has.
func (s *Span) baselineStart() []byte {
	if s.baselineDigits.n == 0 {
		s.baselineDigits.set(s.start.Add(-baselineReach))
	}
	return s.baselineDigits.digits()
}

// Write writes the URL of a span. The template must be bound.
func (t *Template) Write(b *strings.Builder, s *Span) {
	for i := range t.parts {
		p := &t.parts[i]
		b.WriteString(p.literal)
		p.value.write(b, s)
	}
	b.WriteString(t.tail)
}

func (v value) write(b *strings.Builder, s *Span) {
	switch v.what {
	case SpanID:
		b.WriteString(s.ID)
	case TraceID:
		b.WriteString(s.TraceID)
	case SpanName:
		b.WriteString(s.Name)
	case Baseline:
		b.WriteString(s.Baseline)
	case Start:
		b.Write(s.startDigits.digits())
	case End:
		b.Write(s.endDigits.digits())
	case BaselineStart:
		b.Write(s.baselineStart())
	case otherTime:
		var digits [nanosLen]byte
		b.Write(strconv.AppendInt(digits[:0], v.time(s), 10))
	case Service: // literal text since Bind
	}
}

// time returns the time in units since 1970. An end is rounded up: from and to hold
// the whole span.
func (v value) time(s *Span) int64 {
	if v.end {
		return (s.end.UnixNano() + int64(v.shift+v.unit-1)) / int64(v.unit)
	}
	return (s.start.UnixNano() + int64(v.shift)) / int64(v.unit)
}
