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
	// Of Name and Status the first 1024 bytes are kept.
	Err    bool
	Status string
	// LocalRoot says that the span has no parent in this process.
	LocalRoot bool
	// Manual marks a manual exemplar.
	Manual bool

	// CPU is the on-CPU time of the samples that carry ProfileID as
	// profile_id or span_id, CPUSamples their number. Both grow while
	// windows arrive.
	CPU        time.Duration
	CPUSamples int64
	// Complete says that CPU windows of its service cover the span until
	// its end, so that no more samples are to come. A manual exemplar is
	// complete once a later CPU window has come without it.
	Complete bool
}
