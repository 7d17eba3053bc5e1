// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// SpanQuery selects spans. The zero value selects all that have ended, newest
// first.
type SpanQuery struct {
	// Name, if not empty, selects spans of this very name, NameContains those
	// whose name has it as a part, in letters of either case.
	Name, NameContains string
	// Service, if not empty, selects spans of this very service.name.
	Service string
	// TraceID, if not empty, selects the spans of one trace: 32 hex digits.
	TraceID string
	// OnlyErrors selects spans with the status Error.
	OnlyErrors bool
	// MinDuration and MaxDuration bound the wall clock, both inclusive; 0
	// means no bound. Manual exemplars have no wall clock of their own: a
	// bound leaves them out.
	MinDuration, MaxDuration time.Duration
	// From and Until select the spans that overlap [From, Until); a zero
	// time leaves that side open.
	From, Until time.Time
	// Running adds the local roots that have not ended.
	Running bool
	// Order is the order of the result.
	Order Order
	// Limit bounds the length of the result; 0 means no bound.
	Limit int
}

// Order is an order of spans.
type Order int

// The orders of SpanQuery.
const (
	// Newest puts the span that ended last first.
	Newest Order = iota
	// Slowest puts the longest wall time first.
	Slowest
	// MostCPU puts the most CPU time first.
	MostCPU
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
	names map[*spanlog.Name]bool
}

func newSpanFilter(q *SpanQuery) *spanFilter {
	f := &spanFilter{
		query: q,
		now:   time.Now().UnixNano(),
		part:  strings.ToLower(q.NameContains),
		names: make(map[*spanlog.Name]bool),
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

func (f *spanFilter) matches(r *spanlog.Record) bool {
	q := f.query
	duration := r.Duration
	if r.Running() {
		duration = max(0, f.now-r.Start)
	}
	switch {
	case r.Running() && !q.Running,
		q.OnlyErrors && !r.Err,
		q.TraceID != "" && (r.TraceID != f.trace || !f.trace.IsValid()),
		q.MinDuration > 0 && duration < int64(q.MinDuration),
		q.MaxDuration > 0 && duration > int64(q.MaxDuration),
		!f.overlaps(r.Start, r.Start+duration):
		return false
	}
	matched, ok := f.names[r.Name]
	if !ok {
		matched = f.matchesName(r.Name.Service, r.Name.Value)
		f.names[r.Name] = matched
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
