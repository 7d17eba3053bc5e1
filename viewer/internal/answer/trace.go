// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// maxListedBytes bounds the ids in a query: flameql.MaxBytes less the rest of it.
const maxListedBytes = 15_000

// Children is the query for a span and the spans with a profile below it in this process.
type Children struct {
	Query string `json:"query"`
	// Meaning describes what the query selects.
	Meaning string `json:"meaning"`
	// Spans is their number.
	Spans int `json:"spans"`
}

// inSpanName is the label of conditions on samples of spans of a name, and those below.
const inSpanName = "in_span_name"

// tree returns the first span of a query for a span and those below it. The query may have
// been made when more of these had samples.
func (r *Reader) tree(q Query) (root store.Span, ok bool) {
	i := slices.IndexFunc(q.Matchers, func(m store.Matcher) bool {
		return m.Label() == labelkey.ProfileID && m.Op() == store.MatchRegexp && m.ListsIDs()
	})
	if i < 0 || !r.records() {
		return root, false
	}
	ids := strings.Split(q.Matchers[i].Value(), "|")
	if root, ok = r.span(ids[0]); !ok || len(ids) < 2 {
		return root, false
	}
	listed := 0
	for _, s := range sums.Tree(root, r.trace(root)) {
		switch {
		case slices.Contains(ids, s.ProfileID):
			listed++
		case s.SamplesHeld > 0:
			return root, false
		}
	}
	return root, listed == len(ids)
}

// baselineOfTrees is the baseline of a span with those below it; nil where spans have no
// records, and for one without a name.
func (r *Reader) baselineOfTrees(q Query, root store.Span) *Baseline {
	if !r.records() || root.Name == "" || root.SummaryMissing {
		return nil
	}
	base := q.WithoutIDs()
	held := r.services()
	if held.among(root.Service) && (base.App == "" || !held.among(base.App)) {
		of := held.query(root.Service)
		base.App, base.Matchers = of.App, append(of.Matchers, base.Matchers...)
	}
	base = base.WithEqual(inSpanName, root.Name)
	return &Baseline{Name: root.Name, Query: base.String(), Meaning: "all spans of this name, each with those below it", query: base}
}

// newChildren returns nil if no span below span has samples of the query's kind. trace
// has the spans of its trace.
func newChildren(q Query, span store.Span, trace []store.Span) *Children {
	ids, found := []string{span.ProfileID}, false
	for _, s := range sums.Tree(span, trace)[1:] {
		if s.SamplesHeld > 0 {
			ids = append(ids, s.ProfileID)
			found = found || sampled(s, q.Type.Kind)
		}
	}
	if !found {
		return nil
	}
	all := q.Without(labelkey.ProfileID, labelkey.SpanID)
	expression := strings.Join(ids, "|")
	if len(expression) > maxListedBytes {
		all = all.WithEqual(labelkey.TraceID, span.TraceID)
		return &Children{Query: all.String(), Meaning: "the whole trace, as these are too many for one query", Spans: len(ids)}
	}
	// Ids of spans are hexadecimal digits: they need no quoting.
	m, err := store.NewMatcher(labelkey.ProfileID, store.MatchRegexp, expression)
	if err != nil {
		return nil
	}
	return &Children{Query: all.With(m).String(), Meaning: "this span with " + termtext.Plural(len(ids)-1, "span") + " below it", Spans: len(ids)}
}

// sampled reports whether a span with samples may have some of a kind.
func sampled(s store.Span, kind exporter.Kind) bool {
	switch kind {
	case exporter.KindCPU:
		return s.CPUSamples > 0
	case exporter.KindWall:
		return s.WallSamples > 0
	}
	return true
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

// maxHoisted bounds the attributes of a span with the spans below it.
const maxHoisted = 16

// hoist adds the attributes of the spans below a span that have records: they often describe
// the request.
func (s *Span) hoist(span store.Span, trace []store.Span) {
	sums.EachBelow(span, trace, func(child store.Span) bool {
		of := cmp.Or(child.Name, "(unnamed)")
		for _, a := range newAttributes(child.Attributes) {
			a.Child = cmp.Or(a.Child, of)
			switch {
			case slices.Contains(s.Attributes, a):
			case len(s.Attributes) >= maxHoisted:
				s.AttributesOmitted = true
			default:
				s.Attributes = append(s.Attributes, a)
			}
		}
		s.AttributesOmitted = s.AttributesOmitted || child.AttributesOmitted
		return true
	})
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

// listTrace returns the spans of a trace and the number of those left out. A span that
// is alone in its trace has no list.
func (r *Reader) listTrace(all []store.Span) (spans []Span, omitted int) {
	if len(all) < 2 {
		return nil, 0
	}
	if omitted = len(all) - maxTraceSpans; omitted > 0 {
		all = all[:maxTraceSpans]
	}
	for _, s := range all {
		spans = append(spans, r.withTimes(r.newSpan(s), s))
	}
	return spans, max(0, omitted)
}
