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
// of other spans that a span shows.
const (
	unnamedChild = "(unnamed)"
	maxBelow     = 16
)

// bounds returns a time in nanoseconds since 1970, as segment has it.
func bounds(from, until time.Time) (int64, int64) {
	first, last := int64(math.MinInt64), int64(0)
	if !from.IsZero() {
		first = ident.UnixNano(from)
	}
	if !until.IsZero() {
		if last = ident.UnixNano(until); last == ident.Latest {
			last = math.MaxInt64
		}
	}
	return first, last
}

// listed are spans of segments that become spans of an answer.
type listed struct {
	Span
	id    ident.Key
	value int64
}

func (v *view) Spans(q SpanQuery) ([]Span, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	if q.Limit < 0 {
		return nil, fmt.Errorf("store: SpanQuery.Limit %d is negative: use 0 for no bound", q.Limit)
	}
	found, err := v.list(&q)
	if err != nil {
		return nil, err
	}
	others, err := v.exemplars(&q)
	if err != nil {
		return nil, err
	}
	if q.Running {
		others = append(others, v.runningSpans(&q, func(id ident.Key) bool { _, ok := v.Find(id); return ok })...)
	}
	spans := v.spans(found, q.Requests)
	rows := make([]listed, 0, len(spans)+len(others))
	for i := range spans {
		rows = append(rows, listed{Span: spans[i], id: found[i].ID})
	}
	for _, s := range others {
		rows = append(rows, listed{Span: s})
	}
	for i := range rows {
		s := &rows[i]
		switch q.Order {
		case Slowest:
			if s.value = int64(s.Duration); s.Manual {
				s.value = -1 // it has no duration of its own
			}
		case MostCPU:
			if s.value = int64(s.CPU); q.Requests {
				s.value = int64(s.CPUInclusive)
			}
		default:
			s.value = ident.UnixNano(s.Start.Add(s.Duration))
		}
	}
	slices.SortStableFunc(rows, func(a, b listed) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.id, b.id)) })
	if q.Limit > 0 {
		rows = rows[:min(q.Limit, len(rows))]
	}
	answer := make([]Span, len(rows))
	for i := range rows {
		answer[i] = rows[i].Span
	}
	return answer, nil
}

// list returns the spans with a record that q selects. Only without Requests and Below the
// limit is applied.
func (v *view) list(q *SpanQuery) ([]segment.Span, error) {
	of := segment.SpanQuery{
		Name: q.Name, Service: q.Service, Errors: q.OnlyErrors, Min: int64(q.MinDuration), Max: int64(q.MaxDuration),
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
	if nested := q.Requests && v.Nested(); nested || q.Below != "" {
		of.Limit = 0
	}
	found, err := v.List(v.ctx, &of)
	if err != nil || !q.Requests || !v.Nested() {
		return found, err
	}
	ids := make(map[ident.Key]bool, len(found))
	for i := range found {
		ids[found[i].ID] = true
	}
	return slices.DeleteFunc(found, func(s segment.Span) (hidden bool) {
		v.Above(s.ID, func(id ident.Key) bool {
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
		of = append(of, v.SpansOf(v.ctx, &q.Attributes[i].m))
	}
	part, below := strings.ToLower(q.Contains), ident.ParseKey(q.Below)
	var parts map[ident.Key]bool
	if part != "" {
		parts = v.Containing(v.ctx, func(text string) bool { return strings.Contains(strings.ToLower(text), part) })
	}
	return func(id ident.Key) bool {
		for _, ids := range of {
			if !ids[id] {
				return false
			}
		}
		if part != "" && !parts[id] {
			return false
		}
		is := q.Below == ""
		if !is {
			v.Above(id, func(above ident.Key) bool {
				is = above == below
				return !is
			})
		}
		return is
	}
}

// spans returns what is known about spans with a record.
func (v *view) spans(found []segment.Span, requests bool) []Span {
	children := v.Children(found)
	inclusive := v.Inclusive()
	spans := make([]Span, len(found))
	places := make(map[ident.Key]int, len(found))
	for i := range found {
		s := &found[i]
		places[s.ID] = i
		to := &spans[i]
		*to = Span{
			ProfileID: s.ID.String(), ParentID: s.Parent.String(), Name: s.Name, Service: s.Service,
			Start: time.Unix(0, s.Start), Duration: time.Duration(s.Duration), Err: s.Err, Status: s.Status, LocalRoot: s.LocalRoot,
			CPU: time.Duration(s.CPU), CPUSamples: s.Samples, CPUInclusive: time.Duration(s.CPU + inclusive[s.ID]),
			CPUAfterEnd: time.Duration(s.AfterEnd), CPUAfterEndSamples: s.AfterEndSamples, WallSamples: s.Wall, SamplesHeld: s.Held,
			Label: s.Label, ExactTimes: v.exact[s.ID] != nil, Earlier: process(s.Process),
		}
		if s.Trace.IsValid() {
			to.TraceID = s.Trace.String()
		}
		coverage, complete, known := v.Coverage(s)
		if to.Coverage, to.Complete = Coverage(coverage), complete; s.Process != nil {
			to.Complete = true
			if !known {
				to.Coverage = CoverageEvicted
			}
		}
		v.attributes(to, s.Attributes, "", math.MaxInt)
		for _, c := range children[s.ID] {
			v.attributes(to, c.Attributes, cmp.Or(c.Name, unnamedChild), len(to.Attributes)+maxBelow)
		}
	}
	if requests && v.Nested() {
		v.requests(spans, places)
	}
	return spans
}

// attributes adds the attributes of a set to a span, each once and up to a number. child is
// the name of another span that has them.
func (v *view) attributes(to *Span, set, child string, most int) {
	for _, e := range v.Attributes(set) {
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
	all, err := v.List(v.ctx, &segment.SpanQuery{From: math.MinInt64})
	if err != nil {
		return // the caller returns the error of the context
	}
	slices.SortFunc(all, func(a, b segment.Span) int { return cmp.Compare(a.Start, b.Start) })
	for i := range all {
		s := &all[i]
		shown := false
		v.Above(s.ID, func(id ident.Key) bool {
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

func (v *view) Span(id string) (Span, bool, error) {
	if err := v.ctx.Err(); err != nil {
		return Span{}, false, err
	}
	key := ident.ParseKey(id)
	if s, ok := v.Find(key); ok && key != 0 {
		return v.spans([]segment.Span{s}, false)[0], true, nil
	}
	x, ok, err := v.FindExemplar(v.ctx, id)
	if err != nil {
		return Span{}, false, err
	}
	span := v.exemplar(&x)
	span.SummaryMissing = !x.Manual
	for _, s := range v.runningSpans(&SpanQuery{}, func(of ident.Key) bool { return of != key }) {
		span, ok = s, true
	}
	return span, ok, nil
}

// exemplar returns a manual exemplar, or a span without a record.
func (v *view) exemplar(x *segment.Exemplar) Span {
	s := Span{
		ProfileID: x.ID, TraceID: x.Trace, Name: x.Label, Service: x.Service, Label: x.Label, Manual: x.Manual,
		Start: time.Unix(0, x.First), Duration: time.Duration(x.Last - x.First),
		CPU: time.Duration(x.CPU), CPUSamples: x.Samples, CPUInclusive: time.Duration(x.CPU), WallSamples: x.Wall, SamplesHeld: x.Held,
	}
	until, ok := v.Until(x.Service)
	s.Complete = ok && until > x.Last // a later window is without it
	return s
}

// exemplars returns the manual exemplars that q selects.
func (v *view) exemplars(q *SpanQuery) ([]Span, error) {
	if q.OnlyErrors || q.MinDuration > 0 || q.MaxDuration > 0 || len(q.Attributes) > 0 || q.Below != "" {
		return nil, nil
	}
	list, err := v.Exemplars(v.ctx)
	if err != nil {
		return nil, err
	}
	runs := make(map[string]bool)
	for _, r := range v.store.running.list() {
		runs[r.ID] = true
	}
	var spans []Span
	for i := range slices.Backward(list) {
		if x := &list[i]; x.Manual && !runs[x.ID] && q.selects(x.Service, x.Label, x.Trace, x.First, x.Last) {
			spans = append(spans, v.exemplar(x))
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

// runningSpans returns the local roots that have not ended and that q selects, except those
// for which known returns true.
func (v *view) runningSpans(q *SpanQuery, known func(ident.Key) bool) (spans []Span) {
	if q.OnlyErrors || len(q.Attributes) > 0 || q.Below != "" {
		return nil
	}
	now := time.Now()
	service := ident.Service(v.store.intake.Resource())
	for _, r := range v.store.running.list() {
		d := now.Sub(time.Unix(0, r.Start))
		if known(ident.ParseKey(r.ID)) || d < q.MinDuration || q.MaxDuration > 0 && d > q.MaxDuration || !q.selects(service, r.Name, r.Trace, r.Start, now.UnixNano()) {
			continue
		}
		sums, label, of := v.SumsOf(ident.ParseKey(r.ID))
		spans = append(spans, Span{
			ProfileID: r.ID, TraceID: r.Trace, Name: r.Name, Service: cmp.Or(of, service),
			Start: time.Unix(0, r.Start), Duration: max(d, 0), LocalRoot: true, Running: true,
			CPU: time.Duration(sums.CPU), CPUSamples: sums.Samples, CPUInclusive: time.Duration(sums.CPU), WallSamples: sums.Wall, SamplesHeld: sums.Held, Label: label,
		})
	}
	return spans
}
