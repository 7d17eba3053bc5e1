// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"

	"github.com/spanprof/spanprof/store"
)

// maxTraceSpans bounds the list of the spans of a trace.
const maxTraceSpans = 100

// trace returns the spans of the trace that a span is in, in the order of their
// start.
func (h *handler) trace(span store.Span) []store.Span {
	if span.TraceID == "" {
		return nil
	}
	all := h.store.Spans(store.SpanQuery{TraceID: span.TraceID, Running: true})
	slices.SortStableFunc(all, func(a, b store.Span) int { return a.Start.Compare(b.Start) })
	return all
}

// traceJSON lists the spans of a trace, and counts those that it leaves out. A
// span alone in its trace has no list.
func traceJSON(all []store.Span) (spans []spanJSON, omitted int) {
	if len(all) < 2 {
		return nil, 0
	}
	if omitted = len(all) - maxTraceSpans; omitted > 0 {
		all = all[:maxTraceSpans]
	}
	for _, s := range all {
		spans = append(spans, newSpanJSON(s))
	}
	return spans, max(0, omitted)
}
