// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Profile is what a query selects.
type Profile struct {
	Query string `json:"query"`
	// Title has in words what is selected.
	Title string `json:"title"`
	// Note has remarks on the query.
	Note       string `json:"note,omitempty"`
	SampleType string `json:"sampleType"`
	// Measure has in words what Total is.
	Measure string `json:"measure"`
	Unit    string `json:"unit"`
	Total   int64  `json:"total"`
	// Samples is the number of samples; of heap profiles, of allocation sites.
	Samples int64 `json:"samples"`
	// ErrorNs is the standard error of Total, if that is wall time.
	ErrorNs int64 `json:"errorNs,omitempty"`
	// Answer is where the time of Span went.
	Answer *Answer `json:"answer,omitempty"`
	// ProfileIDs is the number of different profile_id values.
	ProfileIDs int `json:"profileIds"`
	// OfSpans is the number of spans that Total is of, of a side of a comparison, where it is
	// known.
	OfSpans int `json:"ofSpans,omitempty"`
	// Windows is the number of windows looked at, From and Until bound them.
	Windows int       `json:"windows"`
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	// Span is the span with the id of the query.
	Span *Span `json:"span,omitempty"`
	// Baseline is what the selection may be compared with.
	Baseline *Baseline `json:"baseline,omitempty"`
	// WithChildren is Span and the spans below it, where their work is not in the
	// profile of Span.
	WithChildren *Children `json:"withChildren,omitempty"`
	// Empty is the reason for an empty selection.
	Empty string `json:"empty,omitempty"`
	// Waiting is set if samples may be on their way.
	Waiting bool `json:"waiting,omitempty"`
	// Ranged is set if the source cannot be searched as a whole.
	Ranged bool `json:"ranged,omitempty"`
	// SpanName is the label if the query is for the spans with it and has no other conditions.
	// SpanService is the service of the query, "" for all.
	SpanName    string `json:"spanName,omitempty"`
	SpanService string `json:"spanService,omitempty"`
	// Kinds are all profiles that meet the same conditions.
	Kinds []Kind `json:"kinds"`
	// Trace has the first hundred spans of Span's trace, of TraceSpans.
	Trace      []Span  `json:"trace,omitempty"`
	TraceSpans int     `json:"traceSpans,omitempty"`
	Status     *Status `json:"status,omitempty"`
	// FrameTypes are what ran in the frames of each type, of host profiles.
	FrameTypes []flame.TypeTotal `json:"frameTypes,omitempty"`
	Flame      *flame.Graph      `json:"flame"`
	// SourceText reports whether the page source has the text of the program.
	SourceText bool `json:"sourceText,omitempty"`

	query   Query
	span    store.Span
	summary *flame.Summary
}

// Profile answers what q selects.
func (r *Reader) Profile(q Query) (*Profile, error) {
	a := r.profile(q, flame.NewFunctions(r.ofHost(q)))
	a.Kinds = r.kinds(a.query)
	trace := r.trace(a.span)
	if len(trace) > 1 {
		a.Trace, a.TraceSpans = r.newSpans(trace[:min(len(trace), maxTraceSpans)]), len(trace)
	}
	if a.span.HasExactTimes {
		a.Span.ExactTimes = r.exactJSON(a.span.ProfileID)
	}
	a.Answer = r.answerOf(a, trace)
	a.WithChildren = newChildren(a.query, a.span, trace)
	a.FrameTypes = a.summary.Types()
	a.Flame = a.summary.Graph()
	a.Flame.SetSources(r.Code.url)
	a.SourceText = r.Code.Directory != ""
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
// flame graph. Two profiles of a comparison share their functions.
func (r *Reader) profile(q Query, fns *flame.Functions) *Profile {
	q, sel, instead := r.found(q)
	a := &Profile{
		Query:      q.String(),
		SampleType: sel.SampleType,
		Measure:    q.Type.Words,
		// Without a profile the source has no unit.
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
	if label, ok := q.Value(labelkey.SpanName); ok && a.Total > 0 && r.records() && len(q.Without(labelkey.SpanName, "service_name").Matchers) == 0 {
		service, _ := q.Value("service_name")
		a.SpanName, a.SpanService = label, cmp.Or(q.service, service)
	}
	if single {
		var known bool
		if a.span, known = r.span(id); known {
			s := r.newSpan(a.span)
			a.Span = &s
		}
	}
	if q.Type.Kind == exporter.KindWall {
		var of *store.Span
		if a.Span != nil {
			of = &a.span
		}
		a.ErrorNs = wallError(sel.Total, sel, of, a.ProfileIDs)
	}
	a.Title = q.title(a.Span)
	if r.status != nil && r.status.Host && len(q.Matchers) == 0 && q.service == "" {
		a.Title = "Whole machine: " + q.Type.Words
	}
	var ended string
	if id, ok := q.Value(labelkey.EndedSpanID); ok && id != "" && !single {
		of, _ := r.span(id)
		a.Title = "After the end of " + cmp.Or(of.Name, id)
		ended = "this is what goroutines that the span had started did after its end: it is in no other number of the span"
	}
	a.Note = joinNotes(instead, ended, a.cutNote(), r.note(q, a))
	a.Baseline = r.baseline(q, a.span, sel)
	if len(sel.Stacks) == 0 {
		a.Empty = r.mistake(r.emptyReason(q, a))
		a.Waiting = single && (a.Span == nil || !a.Span.Complete) && r.running()
	}
	return a
}

// note returns remarks on a query and its span, in sentences without a full stop.
func (r *Reader) note(q Query, a *Profile) string {
	var notes []string
	span := a.span
	if span.CPUSamples > 0 {
		switch span.Coverage {
		case store.CoveragePartial:
			notes = append(notes, "CPU was not profiled in part of this span's time: it may have used more than is shown")
		case store.CoverageEvicted:
			notes = append(notes, "profiles of part of this span's time made room for newer ones: it may have used more than is shown")
		}
	}
	if span.Earlier {
		notes = append(notes, "this span is of an earlier process")
	}
	if q.App != "" && q.App != q.service && q.App != span.Service && !slices.ContainsFunc(r.nameTotals(), func(t store.NameTotal) bool { return t.Service == q.App }) {
		// spanprof.WithAppName may have put any name into the URL.
		notes = append(notes, fmt.Sprintf("there is no service %q here: this is the profile of all", q.App))
	}
	return joinNotes(notes...)
}

// joinNotes leaves out those that are empty.
func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

// cutNote is the note on stacks that the Go runtime cut, "" without any. A stack with its root is
// shorter. The runtime does not cut the stacks of an eBPF agent.
func (a *Profile) cutNote() string {
	frames, deep := 64, 64
	if a.query.Type.Kind != exporter.KindCPU {
		frames, deep = 128, 127 // an inlined leaf is not shown
	}
	cut := a.summary.Deep(deep)
	if cut == 0 || a.summary.Types() != nil {
		return ""
	}
	return fmt.Sprintf("%s of this is in stacks of more than %d frames, which is what the Go runtime notes: they begin in their middle, and what called them is not shown", termtext.Percent(cut, a.Total), frames)
}
