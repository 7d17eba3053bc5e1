// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"
)

// spanRecord is a Span as it is kept: ids in binary, shared names.
type spanRecord struct {
	traceID          trace.TraceID
	spanID, parentID trace.SpanID
	name             *spanName
	// label is the span_name label of the newest samples that have one.
	label  *spanText
	status string
	// start and duration are in nanoseconds, start since 1970.
	start, duration int64
	spanSamples

	// prev and next are the neighbours in the list.
	prev, next rowID
	list       listID
	// slow and hungry say that the record is among the slowest of its name,
	// and among those with most CPU time.
	slow, hungry   bool
	err, localRoot bool
	// missed says that there may be CPU samples of it that went with their
	// windows.
	missed bool
}

// pinned says whether the record is kept longer than the newest ones are.
func (r *spanRecord) pinned() bool { return r.slow || r.hungry || r.list == errorList }

func (r *spanRecord) running() bool { return r.list == runningList }

// span returns the span at a moment in nanoseconds since 1970, which only counts
// if it is running.
func (r *spanRecord) span(now int64) Span {
	span := Span{
		ProfileID:    r.spanID.String(),
		Name:         r.name.value,
		Service:      r.name.service,
		Start:        time.Unix(0, r.start),
		Duration:     time.Duration(r.duration),
		Err:          r.err,
		Status:       r.status,
		LocalRoot:    r.localRoot,
		Running:      r.running(),
		Label:        r.label.String(),
		CPU:          r.cpu,
		CPUSamples:   r.cpuCount,
		CPUInclusive: r.cpu + r.below,
		WallSamples:  r.wallCount,
		SamplesHeld:  r.held,
	}
	if span.Running {
		span.Duration = time.Duration(max(0, now-r.start))
	}
	if r.traceID.IsValid() {
		span.TraceID = r.traceID.String()
	}
	if r.parentID.IsValid() {
		span.ParentID = r.parentID.String()
	}
	return span
}

// cut returns at most maxTextLen bytes of s, and no part of a rune.
func cut(s string) string {
	if len(s) <= maxTextLen {
		return s
	}
	n := maxTextLen
	for n > maxTextLen-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
