// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"time"

	"github.com/spanprof/spanprof/store"
)

// answer is what a query selects.
type answer struct {
	Query string `json:"query"`
	// Note is something to know about the query, in words.
	Note       string `json:"note,omitempty"`
	SampleType string `json:"sampleType"`
	Unit       string `json:"unit"`
	Total      int64  `json:"total"`
	Samples    int64  `json:"samples"`
	// ProfileIDs is how many different profile_id values the samples have.
	ProfileIDs int `json:"profileIds"`
	// Windows is how many windows were looked at, From and Until bound them.
	Windows int       `json:"windows"`
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	// Span is the span whose id the query has.
	Span *spanJSON `json:"span,omitempty"`
	// Baseline is what the selection may be held against.
	Baseline *baselineJSON `json:"baseline,omitempty"`
	// Empty says in words why nothing was selected.
	Empty  string      `json:"empty,omitempty"`
	Flame  *flameNode  `json:"flame"`
	Status *statusJSON `json:"status,omitempty"`

	selection *store.Selection
}

// baselineJSON is the query for all profiles that share a selection's labels
// but for the ids.
type baselineJSON struct {
	Query string `json:"query"`
	// Name is the name of the spans, Spans how many of them are in the
	// store. Both are missing if the name is not known.
	Name  string `json:"name,omitempty"`
	Spans int    `json:"spans,omitempty"`

	query flameQL
}

// answer selects what q asks for.
func (h *handler) answer(q query) (*answer, error) {
	sel, err := h.store.Select(q.store())
	if err != nil {
		// What Select refuses is a sample type that no profile has.
		return nil, badRequestf("select %s: %w", q, err)
	}
	a := &answer{
		Query:      q.String(),
		SampleType: sel.SampleType,
		Unit:       sel.Unit,
		Total:      sel.Total,
		Samples:    sel.Samples,
		ProfileIDs: sel.ProfileIDs,
		Windows:    sel.Windows,
		From:       sel.From,
		Until:      sel.Until,
		Flame:      newTree(sel).flame(maxFlameNodes),
		selection:  sel,
	}
	id, single := q.spanID()
	var span store.Span
	if single {
		var known bool
		if span, known = h.store.Span(id); known {
			s := newSpanJSON(span)
			a.Span = &s
		}
	}
	a.Note = h.note(q, span)
	if a.Baseline, err = h.baseline(q, span, sel); err != nil {
		return nil, err
	}
	if len(sel.Stacks) == 0 {
		a.Empty = h.emptyReason(q, a)
	}
	return a, nil
}

// note tells of an application that no span belongs to. Its name is no reason
// to refuse: WithAppName may have put another one into the URLs.
func (h *handler) note(q query, span store.Span) string {
	if q.app == "" || q.app == span.Service {
		return ""
	}
	services := map[string]bool{}
	for _, s := range h.store.Spans(store.SpanQuery{}) {
		if s.Service == q.app {
			return ""
		}
		services[s.Service] = true
	}
	if len(services) == 0 {
		return ""
	}
	return fmt.Sprintf("no span here belongs to a service %q; this is the profile of %s", q.app, quotedList(services))
}

// baseline returns nil for a query that is not limited to some ids.
func (h *handler) baseline(q query, span store.Span, sel *store.Selection) (*baselineJSON, error) {
	base := q.without(idLabels...)
	if len(base.matchers) == len(q.matchers) {
		return nil, nil
	}
	b := &baselineJSON{Name: span.Name}
	if _, named := base.value("span_name"); !named {
		name, err := h.spanNameLabel(q, span, sel)
		if err != nil {
			return nil, err
		}
		if name != "" {
			base = base.with("span_name", name)
		}
	}
	if span.Name != "" {
		b.Spans = len(h.store.Spans(store.SpanQuery{Name: span.Name}))
	}
	b.Query, b.query = base.String(), base
	return b, nil
}

// spanNameLabel returns the span_name of the samples in sel. It is the span's
// name, as a rule: labels are cut, or "other" where a program has too many
// names, and a span may get another name while it runs.
func (h *handler) spanNameLabel(q query, span store.Span, sel *store.Selection) (string, error) {
	name := labelValue(span.Name)
	if sel.Samples == 0 {
		return name, nil
	}
	if name != "" {
		named := q
		named.flameQL = q.with("span_name", name)
		same, err := h.store.Select(named.store())
		if err != nil {
			return "", fmt.Errorf("select %s: %w", named, err)
		}
		if same.Samples > 0 {
			return name, nil
		}
	}
	p, err := h.store.Profile(q.store())
	if err != nil {
		return "", fmt.Errorf("profile %s: %w", q, err)
	}
	counts := map[string]int{}
	best := ""
	for _, s := range p.Sample {
		for _, label := range s.Label["span_name"] {
			counts[label]++
			if counts[label] > counts[best] {
				best = label
			}
		}
	}
	return best, nil
}
