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
	"unicode/utf8"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// SpanList is the list of spans, with their sums by name.
type SpanList struct {
	// Service is the service of the first group or, without a group, of all profiles.
	head
	Stats store.Stats `json:"stats"`
	Spans []Span      `json:"spans"`
	// Groups are the names with most CPU time. GroupsOmitted is the number of the others.
	Groups        []Name `json:"groups"`
	GroupsOmitted int    `json:"groupsOmitted,omitempty"`
	// Process has the profiles of the whole process.
	Process []Kind `json:"process"`
	// Work selects the CPU time that the conditions are about, over time. WorkNote names the
	// conditions that it leaves out.
	Work     string `json:"work"`
	WorkNote string `json:"workNote,omitempty"`
	// Ranged is set if the source cannot be searched as a whole.
	Ranged bool `json:"ranged,omitempty"`
	// Empty is why there is no span, "" if there are some.
	Empty string `json:"empty,omitempty"`
}

// head is what the lists of spans and of names have in common.
type head struct {
	// Generation names what the source holds. A request that has it as since gets
	// a short answer as long as the list is the same.
	Generation string `json:"generation"`
	Service    string `json:"service"`
	// Services are all services with profiles, if there are several.
	Services []string `json:"services,omitempty"`
	// Fixed is set if the source receives nothing while it is read: polling is useless.
	Fixed  bool    `json:"fixed,omitempty"`
	Note   string  `json:"note,omitempty"`
	Status *Status `json:"status,omitempty"`
}

func (r *Reader) head() head {
	h := head{Generation: r.generation(), Fixed: r.fixed(), Status: r.status}
	if held := r.services(); held.several() {
		h.Services = held
	}
	return h
}

// title returns the services in words.
func (h *head) title() string {
	if len(h.Services) > 1 {
		return fmt.Sprintf("%d services", len(h.Services))
	}
	return termtext.Clip("service "+cmp.Or(termtext.OneLine(h.Service), "(none yet)"), 40)
}

// Unchanged is the answer to a client that has the list of spans.
type Unchanged struct {
	Generation string  `json:"generation"`
	Unchanged  bool    `json:"unchanged"`
	Status     *Status `json:"status,omitempty"`
}

// Unchanged returns nil unless the list of spans is as it was at a generation: no span ended, no
// profile was added or evicted, and no span runs.
func (r *Reader) Unchanged(since string) *Unchanged {
	if since != r.generation() || r.info.Stats.SpansRunning > 0 {
		return nil
	}
	return &Unchanged{Generation: since, Unchanged: true, Status: r.status}
}

// SpanList answers the list of spans that q selects.
func (r *Reader) SpanList(q store.SpanQuery) (*SpanList, error) {
	held := r.services()
	spans, note := r.named(q)
	list := &SpanList{
		head:    r.head(),
		Stats:   r.info.Stats,
		Spans:   r.newSpans(spans),
		Process: r.process(held),
		Ranged:  r.ranged(),
	}
	var named []store.NameTotal
	for _, t := range r.nameTotals() {
		list.Service = cmp.Or(list.Service, t.Service)
		if t.Name != "" { // no query selects spans without a name
			named = append(named, t)
		}
	}
	list.GroupsOmitted = max(0, len(named)-maxGroups)
	list.Groups = r.names(named[:len(named)-list.GroupsOmitted], nil)
	if len(list.Spans) == 0 {
		list.Empty = r.emptyList()
	}
	if list.Service == "" && len(held) == 1 {
		list.Service = held[0]
	}
	work, without := r.listedWork(q)
	list.Work, list.WorkNote = work.String(), without
	if more := len(held) - maxServices; more > 0 {
		list.Note = fmt.Sprintf("the profiles of %s are not listed: ask for one by its name, as in NAME.cpu", termtext.Plural(more, "more service"))
	}
	list.Note = r.notes(note, list.Note)
	return answered(r, list)
}

// named returns the spans that q selects, and a note. A name that no span has may be the label of
// several.
func (r *Reader) named(q store.SpanQuery) (spans []store.Span, note string) {
	spans = r.spans(q)
	if len(spans) > 0 || q.Name == "" {
		return spans, ""
	}
	label, limit := q.Name, q.Limit
	q.Name, q.Limit = "", sampledSpans
	spans = r.spans(q)
	if len(spans) == sampledSpans {
		note = fmt.Sprintf("no span has this name, and only the first %d spans are searched for such a label", sampledSpans)
	}
	spans = slices.DeleteFunc(spans, func(s store.Span) bool { return s.Label != label })
	return spans[:min(limit, len(spans))], note
}

// maxGroups bounds the list of names: the page of names has all.
const maxGroups = 100

// listedWork returns the query for the work that a list of spans is about. There is a note if a query
// of samples cannot have all conditions.
func (r *Reader) listedWork(asked store.SpanQuery) (q flameql.Query, note string) {
	q = flameql.Query{Type: r.cpuType()}
	if asked.Service != "" {
		q = q.WithEqual("service_name", asked.Service)
	}
	if asked.TraceID != "" {
		q = q.WithEqual(labelkey.TraceID, strings.ToLower(asked.TraceID))
	}
	q = q.With(asked.Attributes...)
	if asked.Name != "" {
		label, _ := r.labelOf(store.Span{Name: asked.Name, Service: asked.Service})
		q = q.WithEqual(labelkey.SpanName, label)
	}
	if asked.Contains != "" || asked.OnlyErrors || asked.MinDuration > 0 || asked.Below != "" {
		note = "without the other conditions"
	}
	return q, note
}

// Text returns the list for a terminal.
func (l *SpanList) Text() string {
	var b strings.Builder
	l.writeHead(&b)
	if len(l.Spans) == 0 {
		termtext.Prose(&b, "", 0, l.Empty)
		return b.String()
	}
	named := slices.DeleteFunc(slices.Clone(l.Groups), func(g Name) bool { return g.Spans == 0 })
	if len(named) > 0 {
		b.WriteString("\nnames with most CPU time; names?format=text has all:\n")
	}
	for _, g := range named[:min(textNames, len(named))] {
		fmt.Fprintf(&b, "%10s  %s  ?format=text&name=%s\n", duration(g.CPU), termtext.Plural(g.Spans, "span"), inAddress(g.Name))
	}
	if more := len(named) - textNames + l.GroupsOmitted; more > 0 {
		fmt.Fprintf(&b, "%10s  %s\n", "...", termtext.Plural(more, "more name"))
	}
	b.WriteByte('\n')
	// In a form that a shell in quotes, curl and a browser take: curl removes braces.
	b.WriteString("a span's profile: ?format=text&query=.cpu%7Bprofile_id=%22ID%22%7D\n")
	l.writeSpans(&b)
	return b.String()
}

const textNames = 4

// writeHead writes what stands above the spans: the service, what there is to know about the
// list, and the queries of the whole process.
func (l *SpanList) writeHead(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %d listed", l.title(), len(l.Spans))
	if !l.Fixed {
		fmt.Fprintf(b, "; %s and %s held", termtext.Plural(l.Stats.Spans, "span"), termtext.Plural(l.Stats.Windows, "window"))
	}
	b.WriteByte('\n')
	writeNote(b, l.Note)
	if l.Status != nil {
		writeNote(b, l.Status.Message)
		l.Status.SelfCheck.write(b, len(l.Spans) == 0)
	}
	for i, p := range l.Process {
		lead := ""
		if i == 0 {
			lead = "whole process:"
			if l.Status != nil && l.Status.Host {
				lead = "processes:"
			}
		}
		fmt.Fprintf(b, "%-14s %-14s  %s\n", lead, p.Measure, p.Query)
	}
}

func (l *SpanList) writeSpans(b *strings.Builder) {
	when := termtext.NewTimeColumn(l.Spans, func(s Span) time.Time { return s.Start })
	fmt.Fprintf(b, "\n%-*s %8s %8s %8s  %-16s  %s\n", when.Width(), when.Title, "wall", "cpu", "samples", "ID", "name")
	for _, s := range l.Spans {
		mark, id := s.marks(), termtext.OneLine(s.ProfileID)
		room := termtext.Columns - when.Width() - 31 - max(16, utf8.RuneCountInString(id)) - len(mark)
		samples := strconv.FormatInt(s.CPUSamples, 10)
		if l.Ranged {
			samples = "-"
		}
		fmt.Fprintf(b, "%s %8s %8s %8s  %-16s  %s%s\n", when.Format(s.Start), s.wall(), duration(s.CPUInclusive), samples, id, termtext.Clip(termtext.OneLine(s.title()), max(room, 8)), mark)
		if more := s.telling(); more != "" {
			fmt.Fprintf(b, "    %s\n", termtext.Clip(more, termtext.Columns-4))
		}
	}
}

// marks returns what stands behind the name of a span in a list.
func (s *Span) marks() string {
	mark := ""
	if s.Kind != "" {
		mark = " [" + s.Kind + "]"
	}
	if s.Err {
		mark += " [error]"
	}
	switch {
	case s.Running:
		mark += " [running]"
	case !s.Complete:
		mark += " [window open]"
	case s.CPUSamples > 0 && s.SamplesHeld == 0, s.CPUSamples == 0 && s.Coverage == store.CoverageEvicted.String():
		mark += " [profile evicted]"
	case s.CPUSamples == 0 && s.Coverage != store.CoverageWhole.String():
		mark += " [not profiled]"
	}
	if s.CPUAfterEnd > 0 {
		mark += fmt.Sprintf(" [+%s after its end]", duration(s.CPUAfterEnd))
	}
	if s.Earlier {
		mark += " [earlier process]"
	}
	return mark
}
