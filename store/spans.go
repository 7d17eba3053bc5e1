// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"
)

func (m *moment) spans(q SpanQuery) []Span {
	filter := newSpanFilter(&q)
	top := topRows{order: q.Order, limit: q.Limit}
	for _, row := range m.exemplarRows(filter) {
		top.add(row)
	}
	wanted := func(r *spanRecord) bool { return top.wants(q.Order.value(r, filter.now)) }
	m.store.spans.each(m.snapshot, wanted, func(r *spanRecord) {
		if filter.matches(r) {
			top.add(spanRow{record: *r, value: q.Order.value(r, filter.now)})
		}
	})
	return m.complete(top.sorted(), filter.now)
}

func (m *moment) span(profileID string) (Span, bool) {
	key := parseSpanKey(profileID)
	now := time.Now().UnixNano()
	if key != 0 {
		if r, ok := m.store.spans.find(m.snapshot, key); ok {
			return m.complete([]spanRow{{record: r}}, now)[0], true
		}
	}
	x, ok := m.exemplarOf(profileID, key)
	if !ok {
		return Span{}, false
	}
	span := x.span()
	span.Manual = !x.named
	span.SummaryMissing = x.named
	return m.complete([]spanRow{{exemplar: &span}}, now)[0], true
}

// complete returns the spans of the rows, with what is known of the time when
// they ran.
func (m *moment) complete(rows []spanRow, now int64) []Span {
	spans := make([]Span, len(rows))
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
			service, times = span.Service, m.timesOf(span.Service)
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
