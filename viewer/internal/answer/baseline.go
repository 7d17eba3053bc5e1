// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"time"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Baseline is the query for all profiles with a selection's labels except the ids.
type Baseline struct {
	Query string `json:"query"`
	// Meaning describes what the query selects.
	Meaning string `json:"meaning"`
	// Name is the name of the spans, Spans the number of them that are held.
	// Both are missing if the name is not known.
	Name  string `json:"name,omitempty"`
	Spans int    `json:"spans,omitempty"`
	// Label is the span_name of the query if it is not Name: the label that the
	// samples carry, and maybe samples of spans of other names.
	Label string `json:"label,omitempty"`
	// Empty is set if the query selects no sample either.
	Empty bool `json:"empty,omitempty"`
	// From and Until bound the time of the query. They are set if the source cannot be
	// searched as a whole.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`

	query flameql.Query
}

func (b *Baseline) asked() Query { return Query{Query: b.query, From: b.From, Until: b.Until} }

// baselineReach is the time from the start of a baseline to its profile in such a source.
// spanprof.WithProfileBaselineURL writes the same.
const baselineReach = time.Hour

// baseline returns nil for a query without ids, and for samples of several names, which have
// several baselines. Work after the end of spans has none.
func (r *Reader) baseline(q Query, span store.Span, sel *store.Samples) *Baseline {
	base := q.WithoutIDs()
	if _, ended := q.Value(labelkey.EndedSpanID); ended || len(base.Matchers) == len(q.Matchers) {
		return nil
	}
	if root, ok := r.tree(q); ok {
		return r.baselineOfTrees(q, root)
	}
	held := r.services()
	if held.among(span.Service) && (base.App == "" || !held.among(base.App)) {
		// Spans of the same name in another service are other work.
		of := held.query(span.Service)
		base.App, base.Matchers = of.App, append(of.Matchers, base.Matchers...)
	}
	b := &Baseline{Name: span.Name}
	label := span.Label
	if span.Name != "" {
		for _, t := range r.nameTotals() {
			if t.Name != span.Name || held.among(span.Service) && t.Service != span.Service {
				continue
			}
			b.Spans += t.Spans
			if label == "" && t.Service == span.Service {
				label = t.Label
			}
		}
		// Without a sample nothing is known but the name.
		label = cmp.Or(label, span.Name)
	}
	_, named := base.Value(labelkey.SpanName)
	if !named {
		// A span has one name, although its samples may carry earlier ones.
		// Any other id may be on the work of several spans.
		if sel.Samples > 0 && (span.ProfileID == "" || span.Manual) {
			if len(sel.SpanNames) > 1 {
				return nil
			}
			for _, name := range sel.SpanNames {
				label = name
			}
		}
		if label != "" {
			base = base.WithEqual(labelkey.SpanName, label)
		}
		if label != span.Name {
			b.Label = label
		}
	}
	b.Query, b.query = base.String(), base
	if r.ranged() && !q.From.IsZero() {
		b.From, b.Until = q.From.Add(-baselineReach), q.Until
	}
	switch {
	case b.Label != "":
		b.Meaning = "all work labelled " + termtext.Clip(b.Label, termtext.MaxQuoted)
	case b.Spans > 1:
		b.Meaning = "all " + termtext.Plural(b.Spans, "span") + " of this name"
	case b.Name != "" || named:
		b.Meaning = "all spans of this name"
	case len(base.Matchers) > 0:
		b.Meaning = "all that meets the other conditions"
	case span.ProfileID != "" && !span.Manual && !span.SummaryMissing:
		b.Meaning = "the whole process, as this span has no name"
	default:
		b.Meaning = "the whole process"
	}
	return b
}
