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

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Text returns the list for a terminal.
func (l *SpanList) Text() string {
	var b strings.Builder
	l.writeHead(&b)
	if l.By != nil {
		l.By.text(&b)
	}
	if len(l.Spans) == 0 {
		termtext.Prose(&b, "", 0, l.Empty)
		return b.String()
	}
	// In a form that a shell in quotes, curl and a browser take: curl removes braces.
	b.WriteString("a span's profile: ?format=text&query=.cpu%7Bprofile_id=%22ID%22%7D\n")
	if slices.ContainsFunc(l.Spans, func(s Span) bool { return s.Below > 0 }) {
		b.WriteString("cpu includes the spans below each, samples are the span's own\n")
	}
	l.writeSpans(&b)
	if l.Status != nil {
		l.Status.SelfCheck.verdict(&b)
	}
	return b.String()
}

// writeHead writes what stands above the spans: the service, what there is to know about the
// list, and the queries of the whole process.
func (l *SpanList) writeHead(b *strings.Builder) {
	service := "service " + cmp.Or(termtext.OneLine(l.Service), "(none yet)")
	switch {
	case len(l.Services) > 1:
		service = fmt.Sprintf("%d services", len(l.Services))
	case l.Service == "" && l.Fixed:
		service = "service unknown"
	}
	fmt.Fprintf(b, "%s: %d listed", termtext.Clip(service, 40), len(l.Spans))
	if !l.Fixed {
		fmt.Fprintf(b, "; %s and %s held", termtext.Plural(l.Stats.Spans, "span"), termtext.Plural(l.Stats.Windows, "window"))
	}
	b.WriteByte('\n')
	if l.Note != "" {
		termtext.Prose(b, "", 0, "note: "+l.Note)
	}
	if l.Status != nil {
		if l.Status.Message != "" {
			termtext.Prose(b, "", 0, "note: "+l.Status.Message)
		}
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
		cpu := s.CPUNs
		if s.Below > 0 {
			cpu = s.CPUInclusiveNs
		}
		fmt.Fprintf(b, "%s %8s %8s %8s  %-16s  %s%s\n", when.Format(s.Start), s.wall(), termtext.Value(cpu, termtext.Nanoseconds), samples, id, termtext.Clip(termtext.OneLine(s.name()), max(room, 8)), mark)
		if more := s.telling(); more != "" {
			fmt.Fprintf(b, "    %s\n", termtext.Clip(more, termtext.Columns-4))
		}
	}
}

// marks returns what stands behind the name of a span in a list.
func (s *Span) marks() string {
	mark := ""
	if s.Err {
		mark = " [error]"
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
	if s.AfterEnd != nil {
		mark += fmt.Sprintf(" [+%s after its end]", termtext.Value(s.AfterEnd.CPUNs, termtext.Nanoseconds))
	}
	if s.Earlier != nil {
		mark += " [earlier process]"
	}
	return mark
}
