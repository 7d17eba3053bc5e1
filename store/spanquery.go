// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/filter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// SpanQuery selects spans. The zero value selects all that have ended, newest
// first.
type SpanQuery struct {
	// Name, if not empty, selects spans of this very name. Contains, if not empty,
	// selects those that have it in their name, their status or the value of an
	// attribute, in letters of either case.
	Name, Contains string
	// Attributes must all match the attributes of a span: the label of each is the
	// key after "span.", as in a Query. Where several attributes have the key, as
	// those of children, one must match or, of MatchNotEqual and MatchNotRegexp,
	// all. An attribute that a span lacks is "". No manual exemplar matches.
	Attributes []Matcher
	// Below, if not empty, selects the spans below the one with this id, in this
	// process: 16 hex digits.
	Below string
	// Service, if not empty, selects spans of this very service.name.
	Service string
	// TraceID, if not empty, selects the spans of one trace: 32 hex digits.
	TraceID string
	// OnlyErrors selects spans with the status Error.
	OnlyErrors bool
	// MinDuration and MaxDuration bound the wall clock, both inclusive; 0
	// means no bound. Manual exemplars have no wall clock of their own: a
	// bound leaves them out.
	MinDuration, MaxDuration time.Duration
	// From and Until select the spans that overlap [From, Until); a zero
	// time leaves that side open.
	From, Until time.Time
	// Running adds the local roots that have not ended.
	Running bool
	// Requests makes a list of requests: it leaves out a span that is below
	// another one of the result. Span.Below counts the spans below each, their
	// attributes are among those of Span, and MostCPU is about CPUInclusive. Where only local roots have profiles this
	// changes nothing.
	Requests bool
	// Order is the order of the result.
	Order Order
	// Limit bounds the length of the result; 0 means no bound, and less is an
	// error.
	Limit int
}

// Order is an order of spans.
type Order int

// The orders of SpanQuery.
const (
	// Newest puts the span that ended last first.
	Newest Order = iota
	// Slowest puts the longest wall time first.
	Slowest
	// MostCPU puts the most CPU time first: CPU, or CPUInclusive of requests.
	MostCPU
)

// spanFilter is a SpanQuery, made ready for many records.
type spanFilter struct {
	query *SpanQuery
	// ended reports whether nobody waits for the answer any more.
	ended func() bool
	// now is the time at which running spans are looked at. It and the bounds
	// are in nanoseconds since 1970.
	now         int64
	from, until int64
	part        string
	trace       trace.TraceID
	spans       *spanlog.View
	// names remembers which names match, parts which attributes contain part, and
	// attributes which meet the conditions on attributes.
	names             map[*spanlog.Name]nameMatch
	parts, attributes map[*spanlog.Text]bool
	// tried has which values met each of the conditions on attributes; nil for one that is
	// cheap.
	tried []*filter.Tried
}

// nameMatch says whether a name meets the conditions on it, and whether it contains the
// part that is asked for.
type nameMatch struct{ matches, contains bool }

func newSpanFilter(q *SpanQuery, v *view) *spanFilter {
	f := &spanFilter{
		ended:      v.ended,
		query:      q,
		now:        v.now,
		part:       strings.ToLower(q.Contains),
		spans:      v.spans,
		names:      make(map[*spanlog.Name]nameMatch),
		parts:      make(map[*spanlog.Text]bool),
		attributes: make(map[*spanlog.Text]bool),
	}
	for i := range q.Attributes {
		f.tried = append(f.tried, v.tried(&q.Attributes[i]))
	}
	// What is no id of a trace is not the zero id of a span either.
	f.trace, _ = trace.TraceIDFromHex(strings.ToLower(q.TraceID))
	if !q.From.IsZero() {
		f.from = ident.UnixNano(q.From)
	}
	if !q.Until.IsZero() {
		if f.until = ident.UnixNano(q.Until); f.until == ident.Latest {
			f.until = math.MaxInt64 // It is after all that there is.
		}
	}
	return f
}

func (f *spanFilter) matches(r *spanlog.Record) bool {
	if f.ended() {
		return false
	}
	q := f.query
	duration := r.Duration
	if r.Running() {
		duration = ident.Elapsed(r.Start, f.now)
	}
	switch {
	case r.Running() && !q.Running,
		q.OnlyErrors && !r.Err,
		!f.ofTrace(&r.Row),
		q.MinDuration > 0 && duration < int64(q.MinDuration),
		q.MaxDuration > 0 && duration > int64(q.MaxDuration),
		!f.overlaps(r.Start, r.Start+duration):
		return false
	}
	name, ok := f.names[r.Name]
	if !ok {
		name = nameMatch{f.matchesName(r.Name.Service, r.Name.Value), f.contains(r.Name.Value)}
		f.names[r.Name] = name
	}
	return name.matches && (name.contains || f.contains(r.Status) || f.attributeContains(r)) && f.matchesAttributes(r)
}

// ofTrace reports whether a record is of the trace that is asked for. It is cheap: a trace has
// few of all records. There is no index by trace: a query looks at 64,000 records in a millisecond
// (go test -bench Trace), and an index adds a quarter to what each span costs the store.
func (f *spanFilter) ofTrace(r *spanlog.Row) bool {
	return f.query.TraceID == "" || r.TraceID == f.trace && f.trace.IsValid()
}

// matchesExemplar is matches for a manual exemplar, which is no error and has no
// wall clock.
func (f *spanFilter) matchesExemplar(x *samples.Exemplar) bool {
	q := f.query
	if q.OnlyErrors || q.MinDuration > 0 || q.MaxDuration > 0 || len(q.Attributes) > 0 || q.Below != "" || q.TraceID != "" && !strings.EqualFold(q.TraceID, x.TraceID()) {
		return false
	}
	start, end := x.Bounds()
	return f.overlaps(ident.UnixNano(start), ident.UnixNano(end)) && f.matchesName(x.Service(), x.Label) && f.contains(x.Label)
}

// overlaps says whether [start, end), or the moment start, has a part in the
// time of the query.
func (f *spanFilter) overlaps(start, end int64) bool {
	// A moment lasts a nanosecond, so that it has a part in some time.
	end = max(end, start+1)
	return (f.query.Until.IsZero() || start < f.until) && (f.query.From.IsZero() || end > f.from)
}

func (f *spanFilter) matchesName(service, name string) bool {
	q := f.query
	return (q.Service == "" || service == q.Service) && (q.Name == "" || name == q.Name)
}

func (f *spanFilter) contains(text string) bool {
	return f.part == "" || strings.Contains(strings.ToLower(text), f.part)
}

// attributeContains says whether the value of an attribute contains the part that is
// asked for.
func (f *spanFilter) attributeContains(r *spanlog.Record) bool {
	if r.Attributes == nil {
		return false
	}
	contains, ok := f.parts[r.Attributes]
	if ok {
		return contains
	}
	for e := range f.spans.Attributes(r) {
		contains = contains || !e.More && f.contains(e.Value)
	}
	f.parts[r.Attributes] = contains
	return contains
}

func (f *spanFilter) matchesAttributes(r *spanlog.Record) bool {
	if len(f.query.Attributes) == 0 {
		return true
	}
	matches, ok := f.attributes[r.Attributes]
	if ok {
		return matches
	}
	matches = true
	for i := range f.query.Attributes {
		m := &f.query.Attributes[i]
		key, _ := m.SpanAttribute()
		values, _ := valuesOf(f.spans.Attributes(r), key)
		matches = matches && f.tried[i].MatchesAll(&m.condition, values)
	}
	f.attributes[r.Attributes] = matches
	return matches
}
