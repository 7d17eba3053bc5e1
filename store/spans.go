// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"
)

// Spans returns the spans that q selects: those held, and the manual exemplars
// of the profiles held. Of spans that have not ended only local roots are among
// them, if q asks for them.
func (s *Store) Spans(q SpanQuery) []Span {
	filter := newSpanFilter(&q)
	top := topRows{order: q.Order, limit: q.Limit}
	for _, row := range s.exemplarRows(filter) {
		top.add(row)
	}
	wanted := func(r *spanRecord) bool { return top.wants(q.Order.value(r, filter.now)) }
	s.spans.each(wanted, func(r *spanRecord) {
		if filter.matches(r) {
			top.add(spanRow{record: *r, value: q.Order.value(r, filter.now)})
		}
	})
	return s.complete(top.sorted(), filter.now)
}

// Span returns the span or manual exemplar with that profile_id or span_id. Of
// a span whose summary the store does not have it tells what the profiles tell:
// Name, Service, TraceID, CPU and CPUSamples, and in Start and Duration the
// bounds of the windows with its samples.
func (s *Store) Span(profileID string) (Span, bool) {
	key := parseSpanKey(profileID)
	now := time.Now().UnixNano()
	if key != 0 {
		if r, ok := s.spans.find(key); ok {
			return s.complete([]spanRow{{record: r}}, now)[0], true
		}
	}
	x, ok := s.exemplarOf(profileID, key)
	if !ok {
		return Span{}, false
	}
	span := x.span()
	span.Manual = !x.named
	span.SummaryMissing = x.named
	return s.complete([]spanRow{{exemplar: &span}}, now)[0], true
}

// complete returns the spans of the rows, with what is known of the time when
// they ran.
func (s *Store) complete(rows []spanRow, now int64) []Span {
	spans := make([]Span, len(rows))
	s.mu.RLock()
	defer s.mu.RUnlock()
	var (
		times   *cpuTimes
		service string
	)
	for i := range rows {
		row, span := &rows[i], &spans[i]
		if row.exemplar != nil {
			*span = *row.exemplar
		} else {
			*span = row.record.span(now)
		}
		// Neighbours are of one service, as a rule.
		if i == 0 || span.Service != service {
			service, times = span.Service, s.index.timesOf(span.Service)
		}
		if times == nil {
			continue
		}
		start := span.Start.UnixNano()
		end := start + int64(span.Duration)
		if row.exemplar != nil {
			// A window after its last: it has come to its end.
			span.Complete = times.until > end
			continue
		}
		span.Complete = !span.Running && times.until >= end
		span.Coverage = times.coverage(start, end, row.record.missed)
	}
	return spans
}
