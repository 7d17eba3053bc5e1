// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// spanFilter is a SpanQuery, made ready for many records.
type spanFilter struct {
	query *SpanQuery
	// now is the time at which running spans are looked at. It and the bounds
	// are in nanoseconds since 1970.
	now         int64
	from, until int64
	part        string
	trace       trace.TraceID
	// names remembers which names match.
	names map[*spanName]bool
}

func newSpanFilter(q *SpanQuery) *spanFilter {
	f := &spanFilter{
		query: q,
		now:   time.Now().UnixNano(),
		part:  strings.ToLower(q.NameContains),
		names: make(map[*spanName]bool),
	}
	// What is no id of a trace is not the zero id of a span either.
	f.trace, _ = trace.TraceIDFromHex(strings.ToLower(q.TraceID))
	if !q.From.IsZero() {
		f.from = q.From.UnixNano()
	}
	if !q.Until.IsZero() {
		f.until = q.Until.UnixNano()
	}
	return f
}

func (f *spanFilter) matches(r *spanRecord) bool {
	q := f.query
	duration := r.duration
	if r.running() {
		duration = max(0, f.now-r.start)
	}
	switch {
	case r.running() && !q.Running,
		q.OnlyErrors && !r.err,
		q.TraceID != "" && (r.traceID != f.trace || !f.trace.IsValid()),
		q.MinDuration > 0 && duration < int64(q.MinDuration),
		q.MaxDuration > 0 && duration > int64(q.MaxDuration),
		!f.overlaps(r.start, r.start+duration):
		return false
	}
	matched, ok := f.names[r.name]
	if !ok {
		matched = f.matchesName(r.name.service, r.name.value)
		f.names[r.name] = matched
	}
	return matched
}

// matchesExemplar is matches for a manual exemplar, which is no error and has no
// wall clock.
func (f *spanFilter) matchesExemplar(x *exemplar) bool {
	q := f.query
	if q.OnlyErrors || q.MinDuration > 0 || q.MaxDuration > 0 || q.TraceID != "" && !strings.EqualFold(q.TraceID, x.traceID()) {
		return false
	}
	return f.overlaps(x.first.start.UnixNano(), x.last.end.UnixNano()) && f.matchesName(x.service(), x.label)
}

// overlaps says whether [start, end), or the moment start, has a part in the
// time of the query.
func (f *spanFilter) overlaps(start, end int64) bool {
	// A moment lasts a nanosecond, so that it has a part in some time.
	end = max(end, start+1)
	return (f.query.Until.IsZero() || start < f.until) && (f.query.From.IsZero() || end > f.from)
}

func (f *spanFilter) matchesName(service, name string) bool {
	q := f.query
	return (q.Service == "" || service == q.Service) && (q.Name == "" || name == q.Name) &&
		(f.part == "" || strings.Contains(strings.ToLower(name), f.part))
}
