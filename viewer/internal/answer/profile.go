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

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// Profile is what a query selects.
type Profile struct {
	Query string `json:"query"`
	// Title says in words what is selected.
	Title string `json:"title"`
	// Note says in words what to know about the query.
	Note       string `json:"note,omitempty"`
	SampleType string `json:"sampleType"`
	// Measure says in words what Total is.
	Measure string `json:"measure"`
	Unit    string `json:"unit"`
	Total   int64  `json:"total"`
	// Samples is the number of samples; of heap profiles, of allocation sites.
	Samples int64 `json:"samples"`
	// ErrorNs is the standard error of Total, and Waits is what it was spent on, the
	// most first, if Total is wall time.
	ErrorNs int64  `json:"errorNs,omitempty"`
	Waits   []Wait `json:"waits,omitempty"`
	// Answer is where the time of Span went.
	Answer *Answer `json:"answer,omitempty"`
	// UnwatchedNs is how much Total may lack besides, if it is wall time of Span: nobody
	// looked at the goroutines for so long while that ran, as the process was stopped.
	// Without Span, UnwatchedShare is for which part of the time of the profiles nobody
	// looked.
	UnwatchedNs    int64   `json:"unwatchedNs,omitempty"`
	UnwatchedShare float64 `json:"unwatchedShare,omitempty"`
	// ExpectedSamples is the mean number of samples of one goroutine in the wall
	// time of Span, if Total is wall time.
	ExpectedSamples float64 `json:"expectedSamples,omitempty"`
	// ProfileIDs is the number of different profile_id values.
	ProfileIDs int `json:"profileIds"`
	// OfSpans is the number of spans that Total is of, of a side of a comparison, where it is
	// known.
	OfSpans int `json:"ofSpans,omitempty"`
	// ProfiledNs is for how long the profiles went on that Total is of, of a side of a
	// comparison, where it is known.
	ProfiledNs int64 `json:"profiledNs,omitempty"`
	// Windows is the number of windows looked at, From and Until bound them.
	Windows int       `json:"windows"`
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	// Span is the span whose id the query has.
	Span *Span `json:"span,omitempty"`
	// Attribution says how certain a host profile is about spans.
	Attribution *Attribution `json:"attribution,omitempty"`
	// Baseline is what the selection may be compared with.
	Baseline *Baseline `json:"baseline,omitempty"`
	// WithChildren is Span and the spans below it, where their work is not in the
	// profile of Span.
	WithChildren *Children `json:"withChildren,omitempty"`
	// ChildrenBaseline is what WithChildren may be compared with: all spans of the name of
	// Span, with those below them.
	ChildrenBaseline *Baseline `json:"childrenBaseline,omitempty"`
	// ExactByName sums up the exact times of the spans that the query names, where some
	// have any.
	ExactByName *ExactName `json:"exactByName,omitempty"`
	// Empty says in words why nothing was selected.
	Empty string `json:"empty,omitempty"`
	// Waiting says that samples may be on their way.
	Waiting bool `json:"waiting,omitempty"`
	// Ranged says that the source cannot be looked through as a whole.
	Ranged bool `json:"ranged,omitempty"`
	// Kinds are all profiles that meet the same conditions.
	Kinds []Kind `json:"kinds"`
	// Trace has the spans of Span's trace in the order of their start,
	// TraceOmitted is the number of those left out.
	Trace        []Span  `json:"trace,omitempty"`
	TraceOmitted int     `json:"traceOmitted,omitempty"`
	Status       *Status `json:"status,omitempty"`
	// CutAt is the number of frames beyond which stacks have lost their roots, CutTotal
	// how much is in such stacks; both are missing if none is.
	CutAt    int   `json:"cutAt,omitempty"`
	CutTotal int64 `json:"cutTotal,omitempty"`
	// FrameTypes are what ran in the frames of each type, of host profiles.
	FrameTypes  []flame.TypeTotal  `json:"frameTypes,omitempty"`
	Executables []flame.Executable `json:"executables"`
	Flame       *flame.Graph       `json:"flame"`
	// SourceText reports whether the page source has the text of the program.
	SourceText bool `json:"sourceText,omitempty"`

	query   Query
	span    store.Span
	summary *flame.Summary
	// focus has the callers and callees of a function, for the text form.
	focus *flame.Focus
}

// Profile answers what q selects. The text form of a function has its callers and callees.
func (r *Reader) Profile(q Query, function string) (*Profile, error) {
	a := r.profile(q, flame.NewFunctions(r.ofHost(q)))
	a.Kinds = r.kinds(a.query)
	trace := r.trace(a.span)
	a.Trace, a.TraceOmitted = r.listTrace(trace)
	if a.Span != nil {
		timed := r.withExactTimes(r.withTimes(*a.Span, a.span))
		timed.hoist(a.span, trace)
		a.Span = &timed
	}
	a.Answer = r.answerOf(a, trace)
	if a.WithChildren = newChildren(a.query, a.span, trace); a.WithChildren != nil {
		a.ChildrenBaseline = r.baselineOfTrees(a.query, a.span)
	}
	a.ExactByName = r.exactName(a.query)
	a.FrameTypes, a.Executables = a.summary.Types(), a.summary.Executables()
	if function != "" {
		a.focus = a.summary.Focus(function)
	}
	a.Flame = a.summary.Graph()
	a.Flame.SetSources(r.code.url)
	a.SourceText = r.code.Directory != ""
	a.Status = r.status
	a.Note = r.notes(a.Note)
	return answered(r, a)
}

// Folded answers what q selects in the folded form.
func (r *Reader) Folded(q Query) (string, error) {
	q, sel, _ := r.found(q)
	return r.summary(sel, flame.NewFunctions(r.ofHost(q))).Folded(), r.err
}

// found returns what q selects, or else its local root, and what it is instead.
func (r *Reader) found(q Query) (Query, *store.Samples, string) {
	q = r.resolve(q)
	sel := r.selection(q)
	if len(sel.Stacks) > 0 {
		return q, sel, ""
	}
	root, note, ok := r.localRoot(q)
	if !ok {
		return q, sel, ""
	}
	return root, r.selection(root), note
}

// profile makes the part of a profile that each side of a comparison has, without the
// flame graph. Two profiles that are to be compared share their functions.
func (r *Reader) profile(q Query, fns *flame.Functions) *Profile {
	q, sel, instead := r.found(q)
	a := &Profile{
		Query:      q.String(),
		SampleType: sel.SampleType,
		Measure:    q.Type.Words,
		// The source knows no unit if it has no profile.
		Unit:       cmp.Or(sel.Unit, q.Type.Unit),
		Total:      sel.Total,
		Samples:    sel.Samples,
		ProfileIDs: sel.ProfileIDs,
		Windows:    sel.Windows,
		From:       sel.From,
		Until:      sel.Until,
		Ranged:     r.ranged(),
		query:      q,
		summary:    r.summary(sel, fns),
	}
	id, single := q.SpanID()
	if single {
		var known bool
		if a.span, known = r.span(id); known {
			s := r.newSpan(a.span)
			a.Span = &s
		}
	}
	if interval := r.wallInterval(); a.Span != nil && q.Type.Kind == exporter.KindWall && interval > 0 {
		a.ExpectedSamples = float64(a.Span.DurationNs) / float64(interval)
	}
	a.setWall(sel)
	a.Title = q.title(a.Span, a.ProfileIDs)
	if root, ok := r.tree(q); ok {
		a.Title = r.newSpan(root).title() + " and all below it"
	}
	if r.status != nil && r.status.Host && len(q.Matchers) == 0 && q.service == "" {
		a.Title = "Whole machine: " + q.Type.Words
	}
	var ended string
	if id, ok := q.Value(labelkey.EndedSpanID); ok && id != "" && !single {
		a.Title, ended = r.afterEnd(id)
	}
	a.Attribution = r.attribution(q, a.Span)
	var shared string
	if !single && a.Total > 0 {
		shared = r.attributeNote(q)
	}
	if a.ofGo() {
		a.setCut()
	}
	a.Note = joinNotes(instead, ended, shared, a.unwatched(), a.cutNote(), r.note(q, a, a.Attribution.note(single, a.Unit)))
	a.Baseline = r.baseline(q, a.span, sel)
	if len(sel.Stacks) == 0 {
		a.Empty = r.emptyReason(q, a)
		if a.Baseline != nil {
			a.Baseline.Empty = !r.holds(a.Baseline)
		}
		a.Waiting = single && (a.Span == nil || !a.Span.Complete) && r.running()
	}
	return a
}

// note says what to know about a query and its span, in sentences without a full stop.
func (r *Reader) note(q Query, a *Profile, attribution string) string {
	var notes []string
	span := a.span
	if span.CPUSamples > 0 && a.ofGo() {
		switch span.Coverage {
		case store.CoveragePartial:
			notes = append(notes, "CPU was not profiled in part of this span's time: it may have used more than is shown")
		case store.CoverageEvicted:
			notes = append(notes, "profiles of part of this span's time made room for newer ones: it may have used more than is shown")
		}
	}
	if p := newEarlierProcess(span.Earlier); p != nil {
		notes = append(notes, "this span is of "+p.text())
	}
	if a.ofGo() {
		notes = append(notes, r.labelNote(q), r.appNote(q, span))
	}
	return joinNotes(append(notes, attribution)...)
}

// joinNotes leaves out those that are empty.
func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

// appNote says that no span belongs to the query's application. That is no reason to
// refuse the query: spanprof.WithAppName may have put any name into the URL.
func (r *Reader) appNote(q Query, span store.Span) string {
	if q.App == "" || q.App == q.service || q.App == span.Service {
		return ""
	}
	var services []string
	isName := false
	for _, t := range r.nameTotals() {
		if t.Service == q.App {
			return ""
		}
		services = append(services, strconv.Quote(t.Service))
		isName = isName || t.Name == q.App
	}
	if len(services) == 0 {
		return ""
	}
	slices.Sort(services)
	note := fmt.Sprintf("no span here belongs to a service %q; this is the profile of %s", q.App, strings.Join(slices.Compact(services), ", "))
	if isName {
		note += fmt.Sprintf("; for the spans of that name ask for .%s{span_name=%q}", q.Type.Name, q.App)
	}
	return note
}
