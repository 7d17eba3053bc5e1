// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package labelkey has the keys of the labels that tie samples to spans. The
// root package documents them and sets them; all others read them.
package labelkey

// The keys of the goroutine labels of a span.
const (
	ProfileID = "profile_id"
	SpanID    = "span_id"
	SpanName  = "span_name"
	TraceID   = "trace_id"
)

// EndedSpanID is the key of a label in profiles that goroutines never carry. The goroutine of a
// sample still had the labels of a span that had ended. The value is the span's SpanID. The
// other labels of such a sample are the labels that held before the span.
const EndedSpanID = "ended_span_id"

// SpanAttribution is the key of a label in host profiles: how a sample was given to a span, or
// that it may belong to any span. A program's own label cannot become it, because the eBPF agent
// cuts keys at 15 bytes.
const SpanAttribution = "span_attribution"

// The keys of labels in an agent's profiles of a whole machine.
const (
	Process    = "process_pid" // the id of the process
	Executable = "executable"  // the name of its executable
)

// The values of SpanAttribution.
const (
	// First is the first sample of an agent's record: it has the labels of the record.
	First = "first"
	// ByLabels is a sample of an agent that separates records by their labels.
	ByLabels = "labels"
	// ByLink is a sample of a record with a Link.
	ByLink = "link"
	// ByTimeline is a sample that was placed by what ran on its thread.
	ByTimeline = "timeline"
	// Ambiguous is a sample that may belong to any span, or to none. It has no other label of
	// a program.
	Ambiguous = "ambiguous"
)
