// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// exemplar is a snapshot of an id that may name work without a span.
type exemplar struct {
	idEntry
}

// span tells what the profiles know about the id; the newest has the last word.
func (x *exemplar) span() Span {
	first := x.groups[0].window
	from, until := first.start, first.end
	label := x.label()
	span := Span{ProfileID: x.id, Name: label, CPU: x.cpu, CPUSamples: x.samples, Label: label}
	for _, g := range x.groups {
		if g.window.start.Before(from) {
			from = g.window.start
		}
		if g.window.end.After(until) {
			until = g.window.end
		}
		span.Service = g.window.service
		span.TraceID = orElse(g.traceID, span.TraceID)
	}
	span.Start, span.Duration = from, until.Sub(from)
	return span
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// exemplarRows returns the manual exemplars that q selects.
func (s *Store) exemplarRows(q SpanQuery) []spanRow {
	s.mu.RLock()
	exemplars := make([]exemplar, 0, len(s.index.exemplars))
	for _, e := range s.index.exemplars {
		exemplars = append(exemplars, exemplar{idEntry: *e})
	}
	s.mu.RUnlock()

	ids := make(map[trace.SpanID]struct{})
	for i := range exemplars {
		if id, err := trace.SpanIDFromHex(exemplars[i].id); err == nil {
			ids[id] = struct{}{}
		}
	}
	known := s.spans.known(ids)
	var rows []spanRow
	for i := range exemplars {
		x := &exemplars[i]
		if id, err := trace.SpanIDFromHex(x.id); err == nil {
			if _, ok := known[id]; ok {
				continue
			}
		}
		span := x.span()
		span.Manual = true
		if !q.matches(&span) {
			continue
		}
		rows = append(rows, spanRow{
			exemplar: &span,
			end:      span.Start.Add(span.Duration).UnixNano(),
			duration: int64(span.Duration),
			cpu:      span.CPU,
		})
	}
	// Spans that compare as equal keep this order.
	slices.SortFunc(rows, func(a, b spanRow) int {
		return strings.Compare(a.exemplar.ProfileID, b.exemplar.ProfileID)
	})
	return rows
}
