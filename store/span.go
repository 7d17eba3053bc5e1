// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/store/internal/cputime"
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
	// Attributes are the telling attributes of the span, in its order, then those
	// of children that are not recorded themselves; in the answer to a query for
	// Requests those of all spans below it, 16 in all. AttributesOmitted says that
	// there was no room for others, or that the span has more than are looked at, or an
	// earlier exception among events that are not; see Stats.AttributesUnseen. A running
	// span has none yet.
	Attributes        []Attribute
	AttributesOmitted bool
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
	// CPUAfterEnd is the on-CPU time that goroutines of the span took once it had
	// ended, CPUAfterEndSamples the number of these samples, in the profiles that are
	// held. They have the label ended_span_id, and are in no other number of the span.
	CPUAfterEnd        time.Duration
	CPUAfterEndSamples int64
	// Below is the number of spans with a record below this one in this process,
	// in the answer to a query for Requests; otherwise it is 0.
	Below int
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
	// ExactTimes says that an execution trace has told where its time went: see [Exact].
	ExactTimes bool
	// Earlier is the earlier process that the span is of, nil for this one; see
	// WithDirectory.
	Earlier *Process
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

// Attribute is an attribute of a span. Of the first exception event there are
// exception.type and exception.message.
type Attribute struct {
	Key string
	// Value is the value as text. Of more than 1024 bytes the first are kept,
	// and an ellipsis. In URLs, credentials and signatures are REDACTED.
	Value string
	// Child is the name of the child that has the attribute; empty for the span's
	// own.
	Child string
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
