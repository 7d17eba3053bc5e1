// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
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
	// Label is the span_name of the query where it is not Name but what
	// samples carry instead, which spans of other names may have too.
	Label string `json:"label,omitempty"`

	query flameQL
}

// answer selects what q asks for.
func (h *handler) answer(q query) (*answer, error) {
	sel, err := h.store.Select(q.store())
	if err != nil {
		return nil, queryError("select", q, err)
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

// note tells what is to be known about a query and its span, in sentences
// without a full stop; "" if there is nothing.
func (h *handler) note(q query, span store.Span) string {
	var notes []string
	if span.CPUSamples > 0 {
		switch span.Coverage {
		case store.CoveragePartial:
			notes = append(notes, "CPU was not profiled in part of this span's time: it may have used more than is shown")
		case store.CoverageEvicted:
			notes = append(notes, "profiles of part of this span's time made room for newer ones: it may have used more than is shown")
		}
	}
	if note := h.appNote(q, span); note != "" {
		notes = append(notes, note)
	}
	return strings.Join(notes, "; ")
}

// appNote tells of an application that no span belongs to. Its name is no reason
// to refuse: WithAppName may have put another one into the URLs.
func (h *handler) appNote(q query, span store.Span) string {
	if q.app == "" || q.app == span.Service {
		return ""
	}
	services := map[string]bool{}
	for _, t := range h.store.NameTotals() {
		if t.Service == q.app {
			return ""
		}
		services[t.Service] = true
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
	label := span.Label
	if span.Name != "" {
		for _, t := range h.store.NameTotals() {
			if t.Name != span.Name {
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
	if _, named := base.value("span_name"); !named {
		if label == "" && sel.Samples > 0 {
			var err error
			if label, err = h.sampledName(q); err != nil {
				return nil, err
			}
		}
		if label != "" {
			base = base.with("span_name", label)
		}
		if label != span.Name {
			b.Label = label
		}
	}
	b.Query, b.query = base.String(), base
	return b, nil
}

// sampledName returns the span_name that most samples of q have.
func (h *handler) sampledName(q query) (string, error) {
	p, err := h.store.Profile(q.store())
	if err != nil {
		return "", queryError("profile", q, err)
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

// queryError says what the store minds about a query. The client can mend it
// where it asks for a sample type that no profile has.
func queryError(action string, q query, err error) error {
	err = fmt.Errorf("%s %s: %w", action, q, err)
	if errors.Is(err, store.ErrUnknownSampleType) {
		return badRequest{err: err}
	}
	return err
}
