// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/hex"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// Spans returns the spans that q selects: those held, and the manual exemplars
// of the profiles held. Spans that have not ended are not among them.
func (s *Store) Spans(q SpanQuery) []Span {
	rows := s.exemplarRows(q)
	chunks := s.spans.snapshot()
	if q.Name == "" {
		rows = slices.Grow(rows, len(chunks)*chunkLen)
	}
	for _, chunk := range slices.Backward(chunks) {
		for i := range slices.Backward(chunk) {
			if r := &chunk[i]; q.Name == "" || q.Name == r.name.value {
				rows = append(rows, spanRow{record: r, end: r.start + r.duration, duration: r.duration})
			}
		}
	}

	// Only the order by CPU time has to know it of all.
	if q.Order == MostCPU {
		s.join(rows)
	}
	slices.SortStableFunc(rows, q.Order.compare)
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
	}
	if q.Order != MostCPU {
		s.join(rows)
	}

	spans := make([]Span, len(rows))
	for i, r := range rows {
		spans[i] = r.span()
	}
	return spans
}

// Span returns the span or manual exemplar with that profile_id or span_id. Of
// a span that has not ended, or whose summary the store does not have, it tells
// what the profiles tell: Name, Service, TraceID, CPU and CPUSamples, and in
// Start and Duration the bounds of the windows with its samples.
func (s *Store) Span(profileID string) (Span, bool) {
	id, err := trace.SpanIDFromHex(profileID)
	if err == nil {
		if r := s.spans.find(id); r != nil {
			rows := []spanRow{{record: r}}
			s.join(rows)
			return rows[0].span(), true
		}
	}

	s.mu.RLock()
	e := s.index.ids[profileID]
	if e == nil {
		s.mu.RUnlock()
		return Span{}, false
	}
	x := exemplar{idEntry: *e}
	s.mu.RUnlock()
	span := x.span()
	// id is zero, which no span has, where profileID is free text.
	span.Manual = x.spans == 0 && len(s.spans.known(map[trace.SpanID]struct{}{id: {}})) == 0
	rows := []spanRow{{exemplar: &span}}
	s.join(rows)
	return rows[0].span(), true
}

// join adds what the profiles know to the rows.
func (s *Store) join(rows []spanRow) {
	var id [16]byte
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range rows {
		row := &rows[i]
		if x := row.exemplar; x != nil {
			// A window after its last: it has come to its end.
			row.complete = s.index.coveredUntil(x.Service).After(x.Start.Add(x.Duration))
			row.cpu, row.samples = x.CPU, x.CPUSamples
			continue
		}
		hex.Encode(id[:], row.record.spanID[:])
		if e := s.index.ids[string(id[:])]; e != nil {
			row.cpu, row.samples = e.cpu, e.samples
		}
		covered := s.index.coveredUntil(row.record.service)
		row.complete = !covered.IsZero() && covered.UnixNano() >= row.record.start+row.record.duration
	}
}
