// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/segment"
)

// unnamedChild stands for the name of a child without one. maxBelow bounds the attributes
// of a request, the spans below it included.
const (
	unnamedChild = "(unnamed)"
	maxBelow     = 16
)

// Spans implements View.
func (v *view) Spans(q SpanQuery) (list SpanList, err error) {
	if q.Limit < 0 {
		return list, fmt.Errorf("store: SpanQuery.Limit %d is negative: use 0 for no bound", q.Limit)
	}
	if q.ID != "" {
		list.Spans, err = v.byID(&q)
		return list, err
	}
	if err := v.begin(); err != nil {
		return list, err
	}
	defer v.end()
	if q.Names {
		list.Names, err = v.names()
	} else {
		list.Spans, err = v.listed(&q)
	}
	return list, err
}

// byID returns the span or manual exemplar with the id of a query.
func (v *view) byID(q *SpanQuery) ([]Span, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	key := ident.ParseKey(q.ID)
	if s, ok := v.held.Find(key); ok && key != 0 {
		return v.spans([]segment.Span{s}, q)
	}
	if of := v.runningSpans(&SpanQuery{}, func(of ident.Key) bool { return of != key }); len(of) > 0 {
		return of, nil
	}
	x, ok, err := v.held.FindExemplar(v.ctx, q.ID)
	if err != nil || !ok {
		return nil, err
	}
	return []Span{v.exemplar(&x, q.Sampled)}, nil
}

// listed returns the spans that a query lists, in its order.
func (v *view) listed(q *SpanQuery) ([]Span, error) {
	found, err := v.list(q)
	if err != nil {
		return nil, err
	}
	spans, err := v.spans(found, q)
	if err != nil {
		return nil, err
	}
	others, err := v.exemplars(q)
	if err != nil {
		return nil, err
	}
	if q.Running {
		others = append(others, v.runningSpans(q, func(id ident.Key) bool { _, ok := v.held.Find(id); return ok })...)
	}
	if len(others) > 0 || q.Requests && q.Order == MostCPU {
		spans = append(spans, others...)
		sortSpans(spans, q)
	}
	if q.Limit > 0 {
		spans = spans[:min(q.Limit, len(spans))]
	}
	return spans, v.ctx.Err()
}

// sortSpans sorts spans in the order of a query.
func sortSpans(spans []Span, q *SpanQuery) {
	value := func(s *Span) int64 {
		switch {
		case q.Order == Slowest && s.Manual:
			return -1 // it has no duration of its own
		case q.Order == Slowest:
			return int64(s.Duration)
		case q.Order == MostCPU && q.Requests:
			return int64(s.CPUInclusive)
		case q.Order == MostCPU:
			return int64(s.CPU)
		}
		return ident.UnixNano(s.Start.Add(s.Duration))
	}
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(value(&b), value(&a)), strings.Compare(a.ProfileID, b.ProfileID))
	})
}

// list returns the spans with a record that q selects. The limit is not applied to requests.
func (v *view) list(q *SpanQuery) ([]segment.Span, error) {
	of := segment.SpanQuery{
		Name: q.Name, Service: q.Service, Errors: q.OnlyErrors, Min: int64(q.MinDuration),
		Order: segment.Order(q.Order), Limit: q.Limit, Match: v.matcher(q),
	}
	of.From, of.Until = bounds(q.From, q.Until)
	if q.TraceID != "" {
		id, err := trace.TraceIDFromHex(strings.ToLower(q.TraceID))
		if err != nil {
			return nil, nil // no span is of such a trace
		}
		of.Trace = id
	}
	requests := q.Requests && v.held.Nested()
	if requests {
		of.Limit = 0
	}
	found, err := v.held.List(v.ctx, &of)
	if err != nil || !requests {
		return found, err
	}
	ids := make(map[ident.Key]bool, len(found))
	for i := range found {
		ids[found[i].ID] = true
	}
	return slices.DeleteFunc(found, func(s segment.Span) (hidden bool) {
		v.held.Above(s.ID, func(id ident.Key) bool {
			hidden = ids[id]
			return !hidden
		})
		return hidden
	}), nil
}

// matcher returns the conditions of q that segments do not evaluate, nil if there are none.
func (v *view) matcher(q *SpanQuery) func(ident.Key) bool {
	if q.Contains == "" && len(q.Attributes) == 0 && q.Below == "" {
		return nil
	}
	var of []map[ident.Key]bool
	for i := range q.Attributes {
		of = append(of, v.held.SpansOf(v.ctx, &q.Attributes[i]))
	}
	if part := strings.ToLower(q.Contains); part != "" {
		of = append(of, v.held.Containing(v.ctx, func(text string) bool { return strings.Contains(strings.ToLower(text), part) }))
	}
	below := ident.ParseKey(q.Below)
	return func(id ident.Key) bool {
		if slices.ContainsFunc(of, func(ids map[ident.Key]bool) bool { return !ids[id] }) {
			return false
		}
		is := q.Below == ""
		if !is {
			v.held.Above(id, func(above ident.Key) bool {
				is = above == below
				return !is
			})
		}
		return is
	}
}

// spans returns spans with a record, with the details that a query has.
func (v *view) spans(found []segment.Span, q *SpanQuery) ([]Span, error) {
	var children map[ident.Key][]segment.Ended
	if !q.Brief {
		children = v.held.Children(found)
	}
	inclusive := v.held.Inclusive()
	spans, places := make([]Span, len(found)), make(map[ident.Key]int)
	if v.held.Nested() {
		for i := range found {
			places[found[i].ID] = i
		}
	}
	for i := range found {
		s := &found[i]
		to := &spans[i]
		*to = Span{
			ProfileID: s.ID.String(), ParentID: s.Parent.String(), Name: s.Name, Service: s.Service,
			Start: time.Unix(0, s.Start), Duration: time.Duration(s.Duration), Kind: s.Kind, Err: s.Err, Status: s.Status, LocalRoot: s.LocalRoot,
			CPU: time.Duration(s.CPU), CPUSamples: s.Samples, CPUInclusive: time.Duration(s.CPU + inclusive[s.ID]),
			CPUAfterEnd: time.Duration(s.AfterEnd), CPUAfterEndSamples: s.AfterEndSamples, WallSamples: s.Wall, SamplesHeld: s.Held,
			Label: s.Label, HasExactTimes: v.store.exact.get(s.ID) != nil, Earlier: s.Earlier,
		}
		if s.Trace.IsValid() {
			to.TraceID = s.Trace.String()
		}
		if len(places) > 1 {
			v.held.Above(s.ID, func(id ident.Key) bool {
				_, is := places[id]
				if is {
					to.Above = id.String()
				}
				return !is
			})
		}
		if q.Exact {
			var err error
			if to.ExactTimes, err = unpacked(v.store.exact.get(s.ID)); err != nil {
				return nil, err
			}
		}
		if !q.Brief {
			v.describe(to, s, children[s.ID])
		}
	}
	if q.Requests && !q.Brief && len(places) > 0 {
		v.requests(spans, places)
	}
	return spans, v.ctx.Err()
}

// describe adds what a brief list leaves out.
func (v *view) describe(to *Span, s *segment.Span, children []segment.Ended) {
	coverage, complete := v.held.Coverage(s)
	to.Coverage, to.Complete = Coverage(coverage), complete
	v.attributes(to, s.Attributes, "", math.MaxInt)
	for _, c := range children {
		v.attributes(to, c.Attributes, cmp.Or(c.Name, unnamedChild), math.MaxInt)
	}
}

// attributes adds the attributes of a set to a span, each once and up to a number. child is
// the name of another span that has them.
func (v *view) attributes(to *Span, set, child string, most int) {
	for _, e := range v.held.Attributes(set) {
		a := Attribute{Key: e.Key, Value: e.Value, Child: child}
		switch {
		case e.More, len(to.Attributes) >= most:
			to.AttributesOmitted = true
		case child == "" || !slices.Contains(to.Attributes, a):
			to.Attributes = append(to.Attributes, a)
		}
	}
}

// requests adds the number and the attributes of the spans below each.
func (v *view) requests(spans []Span, places map[ident.Key]int) {
	all, err := v.held.List(v.ctx, &segment.SpanQuery{From: math.MinInt64})
	if err != nil {
		return // the caller returns the error of the context
	}
	slices.SortFunc(all, func(a, b segment.Span) int { return cmp.Compare(a.Start, b.Start) })
	for i := range all {
		s := &all[i]
		shown := false
		v.held.Above(s.ID, func(id ident.Key) bool {
			if at, ok := places[id]; ok {
				spans[at].Below++
				if !shown { // in the nearest one
					shown = true
					v.attributes(&spans[at], s.Attributes, cmp.Or(s.Name, unnamedChild), maxBelow)
				}
			}
			return true
		})
	}
}

// exemplar returns a manual exemplar, or a span without a record. If no span has a record, the
// form of the id distinguishes them.
func (v *view) exemplar(x *segment.Exemplar, sampled bool) Span {
	manual := x.Manual && (!sampled || ident.ParseKey(x.ID) == 0)
	return Span{
		ProfileID: x.ID, TraceID: x.Trace, Name: x.Label, Service: x.Service, Label: x.Label, Manual: manual, SummaryMissing: !manual,
		Start: time.Unix(0, x.First), Duration: time.Duration(x.Last - x.First),
		CPU: time.Duration(x.CPU), CPUSamples: x.Samples, CPUInclusive: time.Duration(x.CPU), WallSamples: x.Wall, SamplesHeld: x.Held,
		Complete: v.held.Until(x.Service) > x.Last, // a later window is without it
	}
}

// exemplars returns the manual exemplars that q selects.
func (v *view) exemplars(q *SpanQuery) ([]Span, error) {
	if q.OnlyErrors || q.MinDuration > 0 || len(q.Attributes) > 0 || q.Below != "" {
		return nil, nil
	}
	list, err := v.held.Exemplars(v.ctx, q.Sampled)
	if err != nil {
		return nil, err
	}
	runs := v.store.running.ids()
	var spans []Span
	for i := range slices.Backward(list) {
		if x := &list[i]; (x.Manual || q.Sampled) && !runs[x.ID] && q.selects(x.Service, x.Label, x.Trace, x.First, x.Last) {
			spans = append(spans, v.exemplar(x, q.Sampled))
		}
	}
	return spans, nil
}

// selects evaluates the conditions on what spans without a record have.
func (q *SpanQuery) selects(service, name, traceID string, start, end int64) bool {
	from, until := bounds(q.From, q.Until)
	return (q.Service == "" || service == q.Service) && (q.Name == "" || name == q.Name) && (q.TraceID == "" || strings.EqualFold(q.TraceID, traceID)) &&
		(q.Contains == "" || strings.Contains(strings.ToLower(name), strings.ToLower(q.Contains))) &&
		(until == 0 || start < until) && max(end, start+1) > from
}
