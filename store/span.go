// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Span is what the store knows of one span, or of a manual exemplar: work that
// ran under a profile_id label of its own, without OpenTelemetry.
type Span struct {
	// ProfileID is the value of the profile_id label: the span's id in 16
	// hex digits, or any text where the program chose it.
	ProfileID string
	// TraceID is 32 hex digits, ParentID 16; both are empty where there is
	// none. ParentID may name a span of another process.
	TraceID, ParentID string
	// Name is the span's name when it ended; for a manual exemplar the
	// span_name label, if it has one.
	Name string
	// Service is service.name of the span's or the profile's resource.
	Service string
	// Start and Duration are the span's wall clock. Those of a manual
	// exemplar are the bounds of the windows its samples came from.
	Start    time.Time
	Duration time.Duration
	// Err says that the span's status is Error; Status is the description.
	// Of Name and Status the first 1024 bytes are kept, as of Service and
	// Label.
	Err    bool
	Status string
	// LocalRoot says that the span has no parent in this process.
	LocalRoot bool
	// Running says that the span has not ended: Duration is how long it runs
	// so far.
	Running bool
	// Manual marks a manual exemplar.
	Manual bool
	// SummaryMissing marks a span of which the store has samples alone: it is
	// not a local root and has not ended, was evicted, or came from another
	// tracer provider. Start and Duration are then the bounds of the windows
	// its samples came from.
	SummaryMissing bool

	// CPU is the on-CPU time of the samples that carry ProfileID as
	// profile_id or span_id, CPUSamples their number. Both grow while
	// windows arrive, and stay when the windows make room for newer ones:
	// SamplesHeld tells what is left.
	CPU        time.Duration
	CPUSamples int64
	// CPUInclusive is CPU and that of the spans that descend from this one in
	// this process. Where only local roots have profiles both are the same.
	CPUInclusive time.Duration
	// WallSamples is the number of its samples in wall-clock profiles.
	WallSamples int64
	// SamplesHeld is the number of its samples of all kinds in the profiles
	// that the store still holds.
	SamplesHeld int64
	// Label is the span_name label of the newest of those samples, empty
	// where none has one. It is not always the name: see NameTotal.
	Label string
	// Complete says that no more samples are to come, as a CPU window of its
	// service ended after the span. A manual exemplar is complete once a
	// later CPU window has come without it.
	Complete bool
	// Coverage says whether CPU was profiled while the span ran, and whether
	// what the profiles have of it is still held. It is CoverageWhole for manual exemplars
	// and where the summary is missing, whose times are those of profiles.
	Coverage Coverage
	// Loss says what of the span is not known because the store had no room for
	// all that came at once. A greater store loses less.
	Loss Loss
}

// Loss is what of a span was lost for want of room.
type Loss int

const (
	// LossNone says that nothing was lost, as far as the store can tell.
	LossNone = Loss(spanlog.LostNothing)
	// LossSamples says that while the span ran, samples made room that waited for
	// the end of their span. They may be those of this span or of its descendants:
	// CPU and CPUInclusive may be too small.
	LossSamples = Loss(spanlog.LostSamples)
	// LossSummary says that the span made room before its samples came, and came
	// back with them: its status and whatever else samples do not need is unknown.
	LossSummary = Loss(spanlog.LostSummary)
)

// String returns "none", "samples" or "summary".
func (l Loss) String() string {
	switch l {
	case LossSamples:
		return "samples"
	case LossSummary:
		return "summary"
	default:
		return "none"
	}
}

// Coverage says whether CPU profiles cover the time of a span. Time for which
// windows are yet to come does not count.
type Coverage int

const (
	// CoverageWhole says that CPU was profiled all the time and that what the
	// profiles have of the span is held: samples that are not there were never
	// taken.
	CoverageWhole = Coverage(cputime.Whole)
	// CoveragePartial says that CPU was not profiled in part of the time, as
	// while another CPU profile ran in the process.
	CoveragePartial = Coverage(cputime.Part)
	// CoverageNone says that CPU was not profiled at all in that time.
	CoverageNone = Coverage(cputime.None)
	// CoverageEvicted says that profiles of that time, or of a part of it,
	// made room for newer ones, and samples of the span with them; or that the
	// store got to know of the span too late to tell.
	CoverageEvicted = Coverage(cputime.Gone)
)

// String returns "whole", "partial", "none" or "evicted".
func (c Coverage) String() string {
	switch c {
	case CoveragePartial:
		return "partial"
	case CoverageNone:
		return "none"
	case CoverageEvicted:
		return "evicted"
	default:
		return "whole"
	}
}

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

func newSpanFilter(q *SpanQuery, now int64) *spanFilter {
	f := &spanFilter{
		query: q,
		now:   now,
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
func (f *spanFilter) matchesExemplar(x *samples.Exemplar) bool {
	q := f.query
	if q.OnlyErrors || q.MinDuration > 0 || q.MaxDuration > 0 || q.TraceID != "" && !strings.EqualFold(q.TraceID, x.TraceID()) {
		return false
	}
	start, end := x.Bounds()
	return f.overlaps(start.UnixNano(), end.UnixNano()) && f.matchesName(x.Service(), x.Label)
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
