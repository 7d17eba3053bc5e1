// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Record is a span as the log keeps it: ids in binary, shared texts.
type Record struct {
	TraceID          trace.TraceID
	SpanID, ParentID trace.SpanID
	Name             *Name
	// Label is the span_name label of the newest samples that have one.
	Label  *Text
	Status string
	// Start and Duration are in nanoseconds, Start since 1970.
	Start, Duration int64
	Samples

	// prev and next are the neighbours in the list.
	prev, next rowID
	list       listID
	// places says where the record is among those that are kept for longer.
	places         places
	Err, LocalRoot bool
	// Missed says that CPU samples of the span may have gone with their
	// windows.
	Missed bool
}

// Samples is what the profiles say about one span.
type Samples struct {
	// CPU is the span's own CPU time, Below that of its descendants.
	CPU, Below time.Duration
	// CPUCount and WallCount are the numbers of samples, Held that of the
	// samples of all kinds in the windows held.
	CPUCount, WallCount, Held int64
}

// Running reports whether the span has not ended.
func (r *Record) Running() bool { return r.list == runningList }

// Add adds other samples of the span.
func (s *Samples) Add(other Samples) {
	s.CPU += other.CPU
	s.Below += other.Below
	s.CPUCount += other.CPUCount
	s.WallCount += other.WallCount
	s.Held += other.Held
}
