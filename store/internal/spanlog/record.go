// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/cputime"
)

// Record is a span as the log keeps it: ids in binary, shared texts.
type Record struct {
	TraceID          trace.TraceID
	SpanID, ParentID trace.SpanID
	Name             *Name
	// Label is the span_name label of the newest samples that have one.
	Label  *Text
	Status string
	// Attributes are the telling attributes of the span, and of its children that
	// have no record, as package attributes writes them.
	Attributes *Text
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
	// Lost says what of the span had no room.
	Lost Lost
	// Earlier is the number of the earlier process that a restored span is of; 0 is
	// this process.
	Earlier uint8
	// saved is above 0 where TakeEnded has given the record as it is: for a restored
	// span 1 more than how much of its time its process has profiled.
	saved uint8
}

// EarlierCoverage says how much of the time of a restored span its process has profiled.
func (r *Record) EarlierCoverage() cputime.Held {
	if r.saved == 0 {
		return cputime.Gone
	}
	return cputime.Held(r.saved - 1)
}

// Lost is what of a span was lost as there was no room for it.
type Lost uint8

// What may be lost of a span.
const (
	// LostNothing: nothing that the log knows of.
	LostNothing Lost = iota
	// LostSamples: while the span ran, samples of spans that had no record went,
	// which may be its own or those of its descendants.
	LostSamples
	// LostSummary: its record made room before its samples came. What these do not
	// need, such as its status, is not known any more.
	LostSummary
)

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
