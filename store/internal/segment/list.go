// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// Order is an order of spans. Each is descending.
type Order int

// The orders: by end, by duration, by CPU time.
const (
	Newest Order = iota
	Slowest
	MostCPU
)

// SpanQuery selects spans. The zero value selects all with a profile of their own.
type SpanQuery struct {
	Name, Service string        // "" means any
	Trace         trace.TraceID // zero means any
	Errors        bool          // only errors
	// Min is the least duration.
	Min int64
	// From and Until select the spans that overlap that time, in nanoseconds since 1970.
	// An Until of 0 means no end.
	From, Until int64
	// Match, if not nil, is a further condition.
	Match func(id ident.Key) bool
	Order Order
	Limit int // 0 means all
}

// Span is a span with its samples.
type Span struct {
	Ended
	Sums
	// Label is the span_name label of its last samples, "" if absent.
	Label   string
	Earlier bool // of an earlier process

	kept bool // in the kept segment
}

// listed is a span that may be in a list.
type listed struct {
	place
	value int64
}

// List returns the spans of a query. It returns the error of the context if that ends first.
func (v *View) List(ctx context.Context, q *SpanQuery) ([]Span, error) {
	until := cmp.Or(q.Until, math.MaxInt64)
	var top []listed
	compare := func(a, b listed) int {
		if a.value == b.value { // only then read the records
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(b.value, a.value)
	}
	var last *listed                             // of the list that was cut
	for _, s := range slices.Backward(v.whole) { // the newest first: then most of the others have no place
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		texts := s.spans.texts.list
		for i := range s.spans.list {
			r := &s.spans.list[i]
			if r.child || q.Name != "" && texts[r.name] != q.Name || q.Service != "" && texts[r.service] != q.Service ||
				q.Errors && !r.err || q.Trace.IsValid() && r.trace != q.Trace || r.duration < q.Min ||
				r.start >= until || max(r.end(), r.start+1) <= q.From {
				continue
			}
			if q.Match != nil && !q.Match(r.id) {
				continue
			}
			l := listed{place{r, s}, v.value(r, q.Order)}
			if last != nil && compare(l, *last) > 0 {
				continue
			}
			// A list of twice the limit is cut to the limit.
			if top = append(top, l); q.Limit > 0 && len(top)/2 >= q.Limit {
				slices.SortFunc(top, compare)
				top = top[:q.Limit]
				last = &top[q.Limit-1]
			}
		}
	}
	slices.SortFunc(top, compare)
	if q.Limit > 0 {
		top = top[:min(len(top), q.Limit)]
	}
	list := make([]Span, len(top))
	for i := range top {
		list[i] = v.span(top[i].place)
	}
	return list, nil
}

func (v *View) value(r *record, by Order) int64 {
	switch by {
	case Slowest:
		return r.duration
	case MostCPU:
		sums, _ := v.sumsOf(r)
		return sums.CPU
	}
	return r.end()
}

// span returns a span with its samples.
func (v *View) span(of place) Span {
	s := Span{Ended: of.in.spans.ended(of.record), Earlier: of.in.earlier || of.earlier, kept: of.in == v.kept}
	s.Sums, s.Label = v.sumsOf(of.record)
	return s
}

// Find returns the span with an id.
func (v *View) Find(id ident.Key) (Span, bool) {
	for _, s := range slices.Backward(v.whole) {
		if r := s.spans.find(id); r != nil && !r.child {
			return v.span(place{r, s}), true
		}
	}
	return Span{}, false
}

// sumsOf returns the samples of a span, and its last label. A segment that begins more than
// two windows after the end of the span has rows after its end only.
func (v *View) sumsOf(r *record) (sums Sums, label string) {
	for _, s := range v.whole {
		if s.until < r.start || len(s.windows) == 0 {
			continue
		}
		far := s.from > r.end()+2*s.longest()
		if far && !s.index.hasLate(r.id) {
			continue
		}
		of, name, ok := s.index.of(s, r.id)
		if !ok {
			continue
		}
		if far {
			of.AfterEnd, of.AfterEndSamples = of.AfterEnd+of.CPU, of.AfterEndSamples+of.Samples
			of.CPU, of.Samples = 0, 0
		} else {
			label = cmp.Or(name, label)
		}
		sums.Add(of)
	}
	return sums, label
}

// SumsOf returns the samples of a span without a record, its last label and its service.
func (v *View) SumsOf(id ident.Key) (sums Sums, label, service string) {
	for _, s := range v.whole {
		if of, name, ok := s.index.of(s, id); ok {
			sums.Add(of)
			label, service = cmp.Or(name, label), cmp.Or(s.windows[0].name(), service)
		}
	}
	return sums, label, service
}

// longest returns the length of the longest CPU window.
func (s *Segment) longest() (length int64) {
	for _, w := range s.windows {
		if w.kind == exporter.KindCPU {
			length = max(length, w.end-w.start)
		}
	}
	return length
}

// Exemplar is an id of rows without a span: a manual exemplar, or a span without a record.
type Exemplar struct {
	// ID is the profile_id, or the span_id if that is absent.
	ID string
	// Manual is set if no span_id names it.
	Manual                bool
	Label, Trace, Service string // of the last rows that have them
	// First and Last bound the windows with its rows, in nanoseconds since 1970.
	First, Last int64
	Sums
}

// Exemplars returns the manual exemplars, in the order of arrival, or all ids, for a view
// without records of spans. Only windows that are held in whole count.
func (v *View) Exemplars(ctx context.Context, all bool) ([]Exemplar, error) {
	return v.exemplars(ctx, v.segments, func(g *group) bool { return g.odd || all && g.span != 0 }, func(s *Segment, g uint32) string {
		if s.ended(g) != 0 {
			return ""
		}
		id := s.label(g, labelkey.ProfileID)
		if all {
			return cmp.Or(id, s.label(g, labelkey.SpanID))
		}
		if id == s.label(g, labelkey.SpanID) || v.isSpan(ident.ParseKey(id)) {
			return ""
		}
		return id
	})
}

// FindExemplar returns the rows of an id without a record.
func (v *View) FindExemplar(ctx context.Context, id string) (Exemplar, bool, error) {
	key := ident.ParseKey(id)
	list, err := v.exemplars(ctx, v.whole, func(g *group) bool { return g.odd || g.span == key && key != 0 }, func(s *Segment, g uint32) string {
		if s.label(g, labelkey.ProfileID) == id || s.label(g, labelkey.SpanID) == id {
			return id
		}
		return ""
	})
	if err != nil || len(list) == 0 {
		return Exemplar{}, false, err
	}
	return list[0], true, nil
}

// isSpan reports whether an id has a record, or is a span_id.
func (v *View) isSpan(id ident.Key) bool {
	return id != 0 && slices.ContainsFunc(v.whole, func(s *Segment) bool { return s.spans.find(id) != nil || s.index.isSpanID(s, id) })
}

// exemplars sums the rows of some groups for which idOf returns an id.
func (v *View) exemplars(ctx context.Context, segments []*Segment, is func(*group) bool, idOf func(*Segment, uint32) string) ([]Exemplar, error) {
	var places table[string]
	var list []Exemplar
	for _, s := range segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		of := make(map[uint32]int) // places of the exemplars of groups
		for g := range uint32(len(s.groups.list)) {
			if !is(&s.groups.list[g]) {
				continue
			}
			id := idOf(s, g)
			if id == "" {
				continue
			}
			at := int(places.add(id))
			if at == len(list) {
				list = append(list, Exemplar{ID: id, Manual: true})
			}
			x := &list[at]
			x.Label, x.Trace = cmp.Or(s.label(g, labelkey.SpanName), x.Label), cmp.Or(s.label(g, labelkey.TraceID), x.Trace)
			x.Manual = x.Manual && s.label(g, labelkey.SpanID) != id
			of[g] = at
		}
		if len(of) == 0 {
			continue
		}
		m := newMatch(s, maps.Keys(of))
		for _, w := range s.windows {
			f := found{window: w, of: s, match: m}
			for row := range f.rows() {
				list[of[uint32(w.groups.At(row))]].addRow(w, row)
			}
		}
	}
	return list, nil
}

func (x *Exemplar) addRow(w *window, row int) {
	if x.Held == 0 || w.start < x.First {
		x.First = w.start
	}
	x.Last = max(x.Last, w.end)
	x.Service = w.name()
	n := w.count(row)
	x.Held += n
	switch w.kind {
	case exporter.KindCPU:
		x.CPU += w.cpuOf(row)
		x.Samples += n
	case exporter.KindWall:
		x.Wall += n
	}
}
