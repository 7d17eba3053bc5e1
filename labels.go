// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import "github.com/spanprof/spanprof/internal/labelkey"

// The goroutine labels of a span, which runtime/pprof puts on CPU and
// goroutine samples. LabelProfileID and LabelSpanID have the same value, so
// that backends which know only one of the two find the span.
const (
	// LabelProfileID, "profile_id", is 16 hex digits: the local root's id in
	// root scope, the span's own in all-spans scope.
	LabelProfileID = labelkey.ProfileID
	// LabelSpanID, "span_id", has the value of LabelProfileID.
	LabelSpanID = labelkey.SpanID
	// LabelSpanName, "span_name", is the span's name, within [WithSpanNameLimit].
	LabelSpanName = labelkey.SpanName
	// LabelTraceID, "trace_id", is the trace id in 32 hex digits.
	LabelTraceID = labelkey.TraceID
)

// isSpanLabel reports whether key is one that spanprof sets.
func isSpanLabel(key string) bool {
	switch key {
	case LabelProfileID, LabelSpanID, LabelSpanName, LabelTraceID:
		return true
	}
	return false
}
