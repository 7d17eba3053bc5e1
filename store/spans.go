// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

func (v *view) Spans(q SpanQuery) ([]Span, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	if q.Limit < 0 {
		return nil, fmt.Errorf("store: SpanQuery.Limit %d is negative: use 0 for no bound", q.Limit)
	}
	if err := v.payAttributes(q.Attributes); err != nil {
		return nil, err
	}
	filter := newSpanFilter(&q, v)
	tree := v.tree(filter)
	top := topRows{order: q.Order, limit: q.Limit}
	exemplars, err := v.exemplarRows(filter)
	if err != nil {
		return nil, err
	}
	for _, row := range exemplars {
		top.add(row)
	}
	value := func(r *spanlog.Row) int64 {
		if q.Requests && q.Order == MostCPU {
			return int64(r.CPU + r.Below)
		}
		return q.Order.value(r, v.now)
	}
	wanted := func(r *spanlog.Row) bool { return !v.ended() && filter.ofTrace(r) && top.wants(value(r)) }
	v.spans.Each(wanted, func(r *spanlog.Record) {
		if filter.matches(r) && tree.lists(r) {
			top.add(spanRow{record: *r, value: value(&r.Row)})
		}
	})
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	spans := v.complete(top.sorted())
	tree.complete(spans, v.moment)
	return spans, nil
}

func (v *view) Span(id string) (Span, bool, error) {
	if err := v.ctx.Err(); err != nil {
		return Span{}, false, err
	}
	key := ident.ParseKey(id)
	if key != 0 {
		if r, ok := v.spans.Find(key); ok {
			return v.complete([]spanRow{{record: r}})[0], true, nil
		}
	}
	x := samples.ExemplarOf(samplesOf(slices.Concat(v.kept, v.windows)), id, key)
	if x == nil {
		return Span{}, false, nil
	}
	span := newExemplarSpan(x)
	span.Manual = !x.Named
	span.SummaryMissing = x.Named
	return v.complete([]spanRow{{exemplar: &span}})[0], true, nil
}

// Lookup returns the name and the trace id of a span by its id, 16 hex digits. It knows
// the spans that have a record now, and opens no view: what receives samples of many
// processes may ask it for each id. The trace id is empty where there is none.
func (s *Store) Lookup(id string) (name, traceID string, ok bool) {
	key := ident.ParseKey(id)
	if key == 0 {
		return "", "", false
	}
	name, trace, ok := s.spans.Lookup(key)
	if trace.IsValid() {
		traceID = trace.String()
	}
	return name, traceID, ok
}

// complete returns the spans of the rows, with what is known of the time when
// they ran.
func (m *moment) complete(rows []spanRow) []Span {
	spans := make([]Span, len(rows))
	var (
		times   *cputime.Times
		service string
	)
	for i := range rows {
		row, span := &rows[i], &spans[i]
		if row.exemplar != nil {
			*span = *row.exemplar
		} else {
			*span = newSpan(&row.record, m.now)
			span.Attributes, span.AttributesOmitted = m.attributes(&row.record)
		}
		if p := m.process(row.record.Earlier); p != nil {
			span.Earlier, span.Complete = p, true
			span.Coverage = earlierCoverage(&row.record)
			continue
		}
		// Neighbours are of one service, as a rule.
		if times == nil || span.Service != service {
			service, times = span.Service, m.timesOf(span.Service)
		}
		if times == nil {
			continue
		}
		start := ident.UnixNano(span.Start)
		end := start + int64(span.Duration)
		if row.exemplar != nil {
			// A window after its last: it has come to its end.
			span.Complete = times.Until > end
			continue
		}
		span.Complete = !span.Running && times.Until >= end
		span.Coverage = Coverage(times.Held(start, end, row.record.Missed))
	}
	m.addAfterEnd(spans)
	return spans
}

// earlierCoverage is the coverage of a span of an earlier process.
func earlierCoverage(r *spanlog.Record) Coverage {
	if r.Held < r.CPUCount+r.WallCount {
		return CoverageEvicted
	}
	return Coverage(r.EarlierCoverage())
}

// newSpan returns the span of a record at a moment in nanoseconds since 1970, which only counts
// if it is running.
func newSpan(r *spanlog.Record, now int64) Span {
	span := Span{
		ProfileID:    r.SpanID.String(),
		Name:         r.Name.Value,
		Service:      r.Name.Service,
		Start:        time.Unix(0, r.Start),
		Duration:     time.Duration(r.Duration),
		Err:          r.Err,
		Status:       r.Status,
		LocalRoot:    r.LocalRoot,
		Running:      r.Running(),
		Label:        r.Label.String(),
		CPU:          r.CPU,
		CPUSamples:   r.CPUCount,
		CPUInclusive: r.CPU + r.Below,
		WallSamples:  r.WallCount,
		SamplesHeld:  r.Held,
		Loss:         Loss(r.Lost),
		ExactTimes:   r.Exact != nil,
	}
	if span.Running {
		span.Duration = time.Duration(ident.Elapsed(r.Start, now))
	}
	if r.TraceID.IsValid() {
		span.TraceID = r.TraceID.String()
	}
	if r.ParentID.IsValid() {
		span.ParentID = r.ParentID.String()
	}
	return span
}

// spanRow is a span or an exemplar on its way into a result.
type spanRow struct {
	record   spanlog.Record
	exemplar *Span
	// value decides on the order: the greatest comes first.
	value int64
}

// value returns what decides on the place of a record, at a moment in nanoseconds
// since 1970, which only counts if it is running.
func (o Order) value(r *spanlog.Row, now int64) int64 {
	end, duration := r.Start+r.Duration, r.Duration
	if r.Running() {
		end, duration = now, ident.Elapsed(r.Start, now)
	}
	switch o {
	case Slowest:
		return duration
	case MostCPU:
		return int64(r.CPU)
	default:
		return end
	}
}

func (o Order) valueOfExemplar(x *samples.Exemplar) int64 {
	switch o {
	case Slowest:
		// It has no wall time of its own: it comes after all that have.
		return -1
	case MostCPU:
		return int64(x.CPU)
	default:
		_, end := x.Bounds()
		return ident.UnixNano(end)
	}
}

// topRows picks the first rows of an order out of many, without keeping or sorting
// the others. Rows with equal values stay in the order in which they came.
type topRows struct {
	order Order
	// limit is how many rows are wanted; 0 means all.
	limit int
	rows  []spanRow
	// places are those of rows; once there are as many as are wanted they are
	// a heap, with the last of the order at the top.
	places rowPlaces
	// came is how many rows were added.
	came int
}

// rowPlace is what decides on the order of a row, and where it is.
type rowPlace struct {
	value       int64
	came, place int
}

// compare is negative if p comes before q.
func (p rowPlace) compare(q rowPlace) int {
	return cmp.Or(cmp.Compare(q.value, p.value), cmp.Compare(p.came, q.came))
}

// wants says whether a row of that value that comes now is among the first so far.
func (t *topRows) wants(value int64) bool {
	return t.limit == 0 || len(t.rows) < t.limit || value > t.places[0].value
}

// add keeps the row, if it is wanted.
func (t *topRows) add(row spanRow) {
	if !t.wants(row.value) {
		return
	}
	p := rowPlace{value: row.value, came: t.came, place: len(t.rows)}
	t.came++
	if t.limit == 0 || len(t.rows) < t.limit {
		t.rows = append(t.rows, row)
		t.places = append(t.places, p)
		if len(t.rows) == t.limit {
			heap.Init(&t.places)
		}
		return
	}
	p.place = t.places[0].place
	t.rows[p.place] = row
	t.places[0] = p
	heap.Fix(&t.places, 0)
}

// sorted returns the rows in their order. Nothing may be added after it.
func (t *topRows) sorted() []spanRow {
	slices.SortFunc(t.places, rowPlace.compare)
	rows := make([]spanRow, len(t.rows))
	for i, p := range t.places {
		rows[i] = t.rows[p.place]
	}
	return rows
}

// rowPlaces is a heap.Interface of a length that stays.
type rowPlaces []rowPlace

func (p rowPlaces) Len() int           { return len(p) }
func (p rowPlaces) Less(i, j int) bool { return p[i].compare(p[j]) > 0 }
func (p rowPlaces) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *rowPlaces) Push(x any)        { *p = append(*p, x.(rowPlace)) }

func (p *rowPlaces) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}
