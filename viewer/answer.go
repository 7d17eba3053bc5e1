// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
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
	// ExpectedSamples is how many samples a goroutine has in the wall time
	// of Span on average, where Total is wall time.
	ExpectedSamples float64 `json:"expectedSamples,omitempty"`
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
	// WithChildren is Span and what the spans below it did, where that is not
	// in the profile of Span itself.
	WithChildren *childrenJSON `json:"withChildren,omitempty"`
	// Empty says in words why nothing was selected.
	Empty string `json:"empty,omitempty"`
	// Waiting says that samples may be on their way.
	Waiting bool `json:"waiting,omitempty"`
	// Kinds are the other profiles that meet the same conditions, and this
	// one.
	Kinds []kindJSON `json:"kinds"`
	// Trace has the spans of the trace that Span is in, in the order of
	// their start; TraceOmitted is the number of those left out.
	Trace        []spanJSON  `json:"trace,omitempty"`
	TraceOmitted int         `json:"traceOmitted,omitempty"`
	Status       *statusJSON `json:"status,omitempty"`
	// Functions are those that take most themselves first, as many as
	// FunctionsOmitted are left out.
	Functions        []functionJSON   `json:"functions"`
	FunctionsOmitted int              `json:"functionsOmitted,omitempty"`
	Executables      []executableJSON `json:"executables"`
	// Focus is about the function that was asked for.
	Focus *focus     `json:"focus,omitempty"`
	Flame *flameNode `json:"flame"`

	query     query
	span      store.Span
	selection *store.Selection
	breakdown *breakdown
}

// answer selects what q asks for and sums it up, all but the flame graph. Two
// answers that are to be compared share their functions. It fails where ctx has
// ended before the work is done.
func (h *handler) answer(ctx context.Context, q query, fns *functions) (*answer, error) {
	sel, err := h.selection(ctx, q)
	if err != nil {
		return nil, err
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
		query:      q,
		selection:  sel,
		breakdown:  newBreakdown(sel, fns),
	}
	id, single := q.spanID()
	if single {
		var known bool
		if a.span, known = h.store.Span(id); known {
			s := newSpanJSON(a.span)
			a.Span = &s
		}
	}
	if interval := h.wallInterval(); a.Span != nil && q.typ.kind == exporter.KindWall && interval > 0 {
		a.ExpectedSamples = float64(a.Span.DurationNs) / float64(interval)
	}
	a.Title = q.title(a.Span, a.ProfileIDs)
	a.Note = h.note(q, a.span)
	a.Baseline = h.baseline(q, a.span, sel)
	if len(sel.Stacks) == 0 {
		a.Empty = h.emptyReason(q, a)
		if a.Baseline != nil {
			a.Baseline.Empty = !h.holds(a.Baseline.query)
		}
		a.Waiting = single && (a.Span == nil || !a.Span.Complete) && h.running()
	}
	return a, nil
}

// selection selects what q asks for, for a client that still waits for it.
func (h *handler) selection(ctx context.Context, q query) (*store.Selection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sel, err := h.store.Select(q.store())
	if err != nil {
		return nil, queryError("select", q, err)
	}
	return sel, ctx.Err()
}

// detail adds what the page of one profile shows, but a comparison does not.
func (h *handler) detail(a *answer, function string) {
	a.Kinds = h.kinds(a.query)
	trace := h.trace(a.span)
	a.Trace, a.TraceOmitted = traceJSON(trace)
	a.WithChildren = newChildren(a.query, a.span, trace)
	a.Functions = a.breakdown.totals.list()
	if omitted := len(a.Functions) - maxFunctions; omitted > 0 {
		a.Functions, a.FunctionsOmitted = a.Functions[:maxFunctions], omitted
	}
	a.Executables = a.breakdown.executables.json()
	if function != "" {
		a.Focus = newFocus(a.selection, function, a.breakdown)
	}
	a.Flame = a.breakdown.tree.flame(maxFlameNodes)
	a.Status = h.statusJSON()
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
	for _, note := range []string{h.labelNote(q), h.appNote(q, span)} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return strings.Join(notes, "; ")
}

// appNote tells of an application that no span belongs to. Its name is no reason
// to refuse: WithAppName may have put another one into the URLs.
func (h *handler) appNote(q query, span store.Span) string {
	if q.app == "" || q.app == q.service || q.app == span.Service {
		return ""
	}
	services, isName := map[string]bool{}, false
	for _, t := range h.store.NameTotals() {
		if t.Service == q.app {
			return ""
		}
		services[t.Service] = true
		isName = isName || t.Name == q.app
	}
	if len(services) == 0 {
		return ""
	}
	note := fmt.Sprintf("no span here belongs to a service %q; this is the profile of %s", q.app, quotedList(services))
	if isName {
		note += fmt.Sprintf("; for the spans of that name ask for .%s{span_name=%q}", q.typ.name, q.app)
	}
	return note
}

// queryError says what the store minds about a query. The client can mend it
// where it asks for a sample type that no profile has, or for too much.
func queryError(action string, q query, err error) error {
	err = fmt.Errorf("%s %s: %w", action, q, err)
	switch {
	case errors.Is(err, store.ErrUnknownSampleType):
		return badRequest{err: err}
	case errors.Is(err, store.ErrTooManySamples):
		return badRequestf("%w samples with ids: ask for fewer ids or, with from and until, for less time, or leave the ids out", err)
	}
	return err
}
