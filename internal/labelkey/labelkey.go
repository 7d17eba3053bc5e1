// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package labelkey has the keys of the labels that tie samples to spans. The
// root package, which documents them, sets them; all others read them.
package labelkey

// The keys of the goroutine labels of a span.
const (
	ProfileID = "profile_id"
	SpanID    = "span_id"
	SpanName  = "span_name"
	TraceID   = "trace_id"
)

// EndedSpanID is the key of the label that names the span after whose end a sample was
// taken, in a goroutine that the span had started. The other labels of such a sample are
// those that held before the span. Package profiler sets it.
const EndedSpanID = "ended_span_id"

// SpanAttribution is the key of the label that says of samples of a host profile how
// they were given to a span, or that they may be any span's. No label of a program
// becomes it by way of the eBPF agent, which cuts keys at 15 bytes.
const SpanAttribution = "span_attribution"

// Process is the key of the label that has the id of a process, in profiles that an agent
// has taken of a whole machine.
const Process = "process_pid"

// The values of SpanAttribution.
const (
	// First is the first sample of an agent's record, whose labels are those of the
	// record.
	First = "first"
	// ByLabels is a sample of an agent that tells records apart by their labels.
	ByLabels = "labels"
	// ByLink is a sample of a record with a Link.
	ByLink = "link"
	// ByTimeline is a sample that was placed by what ran on its thread.
	ByTimeline = "timeline"
	// Ambiguous is a sample that may be any span's, or none's. It has no other label.
	Ambiguous = "ambiguous"
)
