// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// Spans returns the spans that q selects: those held, and the manual exemplars
// of the profiles held. Spans that have not ended are not among them.
func (s *Store) Spans(q SpanQuery) []Span {
	top := topRows{order: q.Order, limit: q.Limit}
	for _, row := range s.exemplarRows(q) {
		top.add(row)
	}
	rows := make([]spanRow, 0, chunkLen)
	for _, chunk := range slices.Backward(s.spans.snapshot()) {
		rows = rows[:0]
		for i := range slices.Backward(chunk) {
			r := &chunk[i]
			if span := r.span(); q.matches(&span) {
				rows = append(rows, spanRow{record: r, end: r.start + r.duration, duration: r.duration})
			}
		}
		// Only the order by CPU time has to know it of all.
		if q.Order == MostCPU {
			s.joinCPU(rows)
		}
		for _, row := range rows {
			top.add(row)
		}
	}
	top.cut()

	rows = top.rows
	s.join(rows)
	if q.Order == MostCPU {
		// A window may have come since they were looked at.
		slices.SortStableFunc(rows, q.Order.compare)
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
	span.SummaryMissing = !span.Manual
	rows := []spanRow{{exemplar: &span}}
	s.join(rows)
	return rows[0].span(), true
}

// join adds what the profiles know to the rows.
func (s *Store) join(rows []spanRow) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var (
		times   *cpuTimes
		service string
	)
	for i := range rows {
		row := &rows[i]
		// Neighbours are of one service, as a rule.
		if of := row.service(); i == 0 || of != service {
			service, times = of, s.index.timesOf(of)
		}
		if x := row.exemplar; x != nil {
			row.cpu, row.samples, row.label = x.CPU, x.CPUSamples, x.Label
			// A window after its last: it has come to its end.
			row.complete = times != nil && times.until > x.Start.Add(x.Duration).UnixNano()
			continue
		}
		if e := s.index.entry(row.record.spanID); e != nil {
			row.cpu, row.samples, row.label = e.cpu, e.samples, e.label()
		}
		if times != nil {
			start, end := row.record.start, row.record.start+row.record.duration
			row.complete = times.until >= end
			row.coverage = times.coverage(start, end)
		}
	}
}

// joinCPU adds the CPU time to rows of records.
func (s *Store) joinCPU(rows []spanRow) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range rows {
		if e := s.index.entry(rows[i].record.spanID); e != nil {
			rows[i].cpu = e.cpu
		}
	}
}
