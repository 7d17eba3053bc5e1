// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// baselineJSON is the query for all profiles that share a selection's labels
// but for the ids.
type baselineJSON struct {
	Query string `json:"query"`
	// Meaning says in words what the query selects.
	Meaning string `json:"meaning"`
	// Name is the name of the spans, Spans how many of them are in the
	// store. Both are missing if the name is not known.
	Name  string `json:"name,omitempty"`
	Spans int    `json:"spans,omitempty"`
	// Label is the span_name of the query where it is not Name but what
	// samples carry instead, which spans of other names may have too.
	Label string `json:"label,omitempty"`
	// Empty says that it selects no sample either: nobody is to be led there.
	Empty bool `json:"empty,omitempty"`

	query flameQL
}

// baseline returns nil for a query that is not limited to some ids, and for one
// whose samples have several names: no single name is what they are to be held
// against.
func (h *handler) baseline(q query, span store.Span, sel *store.Selection) *baselineJSON {
	base := q.without(idLabels...)
	if len(base.matchers) == len(q.matchers) {
		return nil
	}
	held := h.services()
	if held.among(span.Service) && (base.app == "" || !held.among(base.app)) {
		// Spans of the same name in another service are other work.
		of := held.query(span.Service)
		base.app, base.matchers = of.app, append(of.matchers, base.matchers...)
	}
	b := &baselineJSON{Name: span.Name}
	label := span.Label
	if span.Name != "" {
		for _, t := range h.store.NameTotals() {
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
	_, named := base.value(labelkey.SpanName)
	if !named {
		// A span has one name, but its samples may carry earlier ones. Any
		// other id may be that of work in several spans.
		if sel.Samples > 0 && (span.ProfileID == "" || span.Manual) {
			if len(sel.SpanNames) > 1 {
				return nil
			}
			for _, name := range sel.SpanNames {
				label = name
			}
		}
		if label != "" {
			base = base.with(labelkey.SpanName, label)
		}
		if label != span.Name {
			b.Label = label
		}
	}
	b.Query, b.query = base.String(), base
	switch {
	case b.Label != "":
		b.Meaning = "all work labelled " + clip(b.Label, maxQuoted)
	case b.Spans > 1:
		b.Meaning = "all " + plural(b.Spans, "span") + " of this name"
	case b.Name != "" || named:
		b.Meaning = "all spans of this name"
	case len(base.matchers) > 0:
		b.Meaning = "all that meets the other conditions"
	case span.ProfileID != "" && !span.Manual && !span.SummaryMissing:
		b.Meaning = "the whole process, as this span has no name"
	default:
		b.Meaning = "the whole process"
	}
	return b
}
