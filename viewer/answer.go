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
	// Title says in words what is selected.
	Title string `json:"title"`
	// Note is something to know about the query, in words.
	Note       string `json:"note,omitempty"`
	SampleType string `json:"sampleType"`
	// Measure says in words what Total is.
	Measure string `json:"measure"`
	Unit    string `json:"unit"`
	Total   int64  `json:"total"`
	// Samples counts the samples; of heap profiles, the allocation sites.
	Samples int64 `json:"samples"`
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
	Empty string `json:"empty,omitempty"`
	// Waiting says that samples may be on their way.
	Waiting bool        `json:"waiting,omitempty"`
	Flame   *flameNode  `json:"flame"`
	Status  *statusJSON `json:"status,omitempty"`

	selection *store.Selection
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
		Measure:    q.typ.words,
		// Without a profile the store knows no unit.
		Unit:       cmp.Or(sel.Unit, q.typ.unit),
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
	a.Title = q.title(a.Span)
	a.Note = h.note(q, span)
	if a.Baseline, err = h.baseline(q, span, sel); err != nil {
		return nil, err
	}
	if len(sel.Stacks) == 0 {
		a.Empty = h.emptyReason(q, a)
		a.Waiting = single && (a.Span == nil || !a.Span.Complete) && h.running()
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

// queryError says what the store minds about a query. The client can mend it
// where it asks for a sample type that no profile has.
func queryError(action string, q query, err error) error {
	err = fmt.Errorf("%s %s: %w", action, q, err)
	if errors.Is(err, store.ErrUnknownSampleType) {
		return badRequest{err: err}
	}
	return err
}
