// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// maxListedBytes bounds the ids in a query: flameql.MaxBytes less the rest of it.
const maxListedBytes = 15_000

// withIDs returns q for the samples of spans. Their ids are hexadecimal digits, which need no
// quoting, or one text.
func withIDs(q flameql.Query, ids []string) flameql.Query {
	q = q.Without(labelkey.ProfileID, labelkey.SpanID)
	if len(ids) > 1 {
		if m, err := store.NewMatcher(labelkey.ProfileID, store.MatchRegexp, strings.Join(ids, "|")); err == nil {
			return q.With(m)
		}
	}
	return q.WithEqual(labelkey.ProfileID, ids[0])
}

// Children is the query for a span and the spans with a profile below it in this process.
type Children struct {
	Query string `json:"query"`
	// Meaning describes what the query selects.
	Meaning string `json:"meaning"`
}

// newChildren returns nil if no span below span has samples. trace has the spans
// of its trace.
func newChildren(q Query, span store.Span, trace []store.Span) *Children {
	ids, room, left := []string{span.ProfileID}, maxListedBytes, 0
	eachBelow(span, trace, func(s store.Span) bool {
		if s.SamplesHeld == 0 {
			return true
		}
		if room -= len(s.ProfileID) + 1; room < 0 {
			left++
			return true
		}
		ids = append(ids, s.ProfileID)
		return true
	})
	if len(ids) == 1 {
		return nil
	}
	meaning := "this span with " + termtext.Plural(len(ids)-1, "span") + " below it"
	if left > 0 {
		meaning += fmt.Sprintf(", without %d more for which one query has no room", left)
	}
	return &Children{Query: withIDs(q.Query, ids).String(), Meaning: meaning}
}

// eachBelow visits the spans of a trace below one in its process, the nearest first. Spans below
// one for which visit returns false are left out.
func eachBelow(root store.Span, trace []store.Span, visit func(store.Span) bool) {
	below := map[string][]store.Span{}
	for _, s := range trace {
		if s.ParentID != "" && s.ProfileID != root.ProfileID && !s.LocalRoot {
			below[s.ParentID] = append(below[s.ParentID], s)
		}
	}
	todo := []string{root.ProfileID}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, s := range below[todo[0]] {
			if visit(s) {
				todo = append(todo, s.ProfileID)
			}
		}
		delete(below, todo[0]) // parents may form a circle
	}
}

// localRoot returns another query if q selects nothing, and a note. q has the ids of a trace and
// of an unknown span. The query is for the local roots of the trace, or for all of its samples.
// In root scope a child's samples are its local root's. An exemplar of a metric may name a child.
func (r *Reader) localRoot(q Query) (root Query, note string, ok bool) {
	id, single := q.SpanID()
	trace, ofTrace := q.Value(labelkey.TraceID)
	if !single || !ofTrace || trace == "" {
		return q, "", false
	}
	if _, known := r.span(id); known {
		return q, "", false
	}
	roots := slices.DeleteFunc(r.spans(store.SpanQuery{TraceID: trace, Running: true}), func(s store.Span) bool { return !s.LocalRoot })
	q.Query = q.Without(labelkey.ProfileID, labelkey.SpanID)
	if len(roots) == 1 {
		q.Query = q.WithEqual(labelkey.ProfileID, roots[0].ProfileID)
	}
	note = fmt.Sprintf("the span %s has no profile of its own here: this is the profile of ", strconv.Quote(termtext.Clip(id, termtext.MaxQuoted)))
	if len(roots) > 0 {
		return q, note + termtext.Plural(len(roots), "local root") + " of its trace", true
	}
	// Sources without records of spans have samples that name the trace.
	return q, note + "its trace", len(r.selection(q).Stacks) > 0
}

// maxTraceSpans bounds the list of the spans of a trace.
const maxTraceSpans = 100

// trace returns the spans of a span's trace, in the order of their start.
func (r *Reader) trace(span store.Span) []store.Span {
	if span.TraceID == "" {
		return nil
	}
	all := r.spans(store.SpanQuery{TraceID: span.TraceID, Running: true})
	slices.SortStableFunc(all, func(a, b store.Span) int { return a.Start.Compare(b.Start) })
	return all
}

// Baseline is the query for all profiles with a selection's labels except the ids.
type Baseline struct {
	Query string `json:"query"`
	// Meaning describes what the query selects.
	Meaning string `json:"meaning"`
	// Spans is the number of spans that are held, if the query selects spans of one name.
	Spans int `json:"spans,omitempty"`
	// From and Until bound the time of the query. They are set if the source cannot be
	// searched as a whole.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// baselineReach is the time from the start of a baseline to its profile in such a source.
// spanprof.WithProfileBaselineURL writes the same.
const baselineReach = time.Hour

// baseline returns nil for a query without ids, and for samples of several names, which have
// several baselines. Work after the end of spans has none, and neither has what nothing is
// comparable to.
func (r *Reader) baseline(q Query, span store.Span, sel *store.Samples) *Baseline {
	base := Query{Query: q.WithoutIDs(), From: q.From, Until: q.Until}
	if _, ended := q.Value(labelkey.EndedSpanID); ended || len(base.Matchers) == len(q.Matchers) {
		return nil
	}
	held := r.services()
	if held.among(span.Service) && (base.App == "" || !held.among(base.App)) {
		// Spans of the same name in another service are other work.
		of := held.query(span.Service)
		base.App, base.Matchers = of.App, append(of.Matchers, base.Matchers...)
	}
	b := &Baseline{}
	if r.ranged() && !q.From.IsZero() {
		base.From = q.From.Add(-baselineReach)
		b.From, b.Until = base.From, base.Until
	}
	label, spans := r.labelOf(span)
	_, named := base.Value(labelkey.SpanName)
	switch {
	case named:
		label = span.Name
	case sel.Samples > 0 && (span.ProfileID == "" || span.Manual):
		// A span has one name, although its samples may carry earlier ones.
		// Any other id may be on the work of several spans.
		if len(sel.SpanNames) > 1 {
			return nil
		}
		label = cmp.Or(strings.Join(sel.SpanNames, ""), label)
	}
	if !named && label != "" {
		base.Query = base.WithEqual(labelkey.SpanName, label)
	}
	switch {
	case label != span.Name:
		b.Meaning = "all work labelled " + termtext.Clip(label, termtext.MaxQuoted)
	case spans > 1:
		b.Meaning, b.Spans = "all "+termtext.Plural(spans, "span")+" of this name", spans
	case span.Name != "" || named:
		b.Meaning, b.Spans = "all spans of this name", spans
	case len(base.Matchers) > 0:
		b.Meaning = "all that meets the other conditions"
	default:
		b.Meaning = "the whole process"
	}
	b.Query = base.String()
	if len(sel.Stacks) == 0 && !slices.ContainsFunc(r.totals(r.resolve(base)), func(t store.Sum) bool { return t.Kind == q.Type.Kind && t.Samples > 0 }) {
		return nil
	}
	return b
}

// labelOf returns the span_name of the samples of a span, and the number of the spans of its
// name. Without a sample only the name is known.
func (r *Reader) labelOf(span store.Span) (label string, spans int) {
	label = span.Label
	for _, t := range r.nameTotals() {
		if span.Name == "" || t.Name != span.Name || r.services().among(span.Service) && t.Service != span.Service {
			continue
		}
		spans += t.Spans
		if span.Service == "" || t.Service == span.Service {
			label = cmp.Or(label, t.Label)
		}
	}
	return cmp.Or(label, span.Name), spans
}
