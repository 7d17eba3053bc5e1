// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "time"

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
}
