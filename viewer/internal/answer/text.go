// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
)

const (
	// textRows bounds the text form in lines, the others its parts.
	textRows       = 40
	textFunctions  = 18
	textDiffRows   = 16
	textAttributes = 5
)

// Text returns the profile for a terminal.
func (a *Profile) Text() string {
	var b strings.Builder
	a.header(&b, "")
	if a.Empty != "" {
		return b.String()
	}
	if a.FrameTypes != nil {
		fmt.Fprintf(&b, "%-9s%s\n", "frames", frameTypes(a.FrameTypes, a.Total))
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "%10s %7s %10s %7s  %s\n", "self", "", "total", "", "function")
	functions, columns := a.summary.Functions(), termtext.Columns-39
	room := max(3, min(textFunctions, textRows-1-strings.Count(b.String(), "\n")))
	for _, f := range functions[:min(len(functions), room)] {
		name := withLines(marked(f.Type, f.Name, columns), f, a.Total, columns)
		fmt.Fprintf(&b, "%10s %7s %10s %7s  %s\n", termtext.Value(f.Self, a.Unit), termtext.Percent(f.Self, a.Total), termtext.Value(f.Total, a.Unit), termtext.Percent(f.Total, a.Total), name)
	}
	if more := len(functions) - room; more > 0 {
		fmt.Fprintf(&b, "%38s %s\n", "...", termtext.Plural(more, "more function"))
	}
	return b.String()
}

func writeNote(b *strings.Builder, note string) {
	if note != "" {
		termtext.Prose(b, "", 0, "note: "+note)
	}
}

// header writes what is selected, in lines that begin with indent.
func (a *Profile) header(b *strings.Builder, indent string) {
	line := func(name, text string) {
		fmt.Fprintf(b, "%s%-9s%s\n", indent, name, termtext.OneLine(text))
	}
	prose := func(name, text string) {
		if text != "" {
			termtext.Prose(b, indent+name, len(indent)+9, text)
		}
	}
	name := "answer"
	for _, text := range a.Answer.text() {
		prose(name, text)
		name = ""
	}
	for _, row := range a.Answer.table() {
		line("", row)
	}
	line("query", a.Query)
	if a.Span != nil {
		a.Span.write(line, termtext.Columns-len(indent)-9)
	}
	line("total", fmt.Sprintf("%s %s%s %s", a.Measure, termtext.Value(a.Total, a.Unit), plusMinus(a.ErrorNs), a.sources()))
	prose("note", a.Note)
	prose("empty", a.Empty)
	if base := a.Baseline; base != nil {
		line("baseline", base.Query)
		prose("", "("+base.Meaning+")")
	}
	if c := a.WithChildren; c != nil {
		line("children", c.Query)
		prose("", "("+c.Meaning+")")
	}
	for _, k := range a.Kinds {
		if k.Type != a.query.Type.Name && k.Samples > 0 {
			line("also", fmt.Sprintf("%s  (%s)", k.Query, k.Measure))
		}
	}
	if len(a.Trace) > 1 {
		line("trace", fmt.Sprintf("?format=text&trace=%s  (%s)", a.Span.TraceID, termtext.Plural(a.TraceSpans, "span")))
	}
	if s := a.Status; s != nil && !strings.Contains(a.Empty, strings.TrimSuffix(s.Message, ".")) {
		prose("status", s.Message)
	}
}

// write writes the span with a function, in lines of room columns.
func (s *Span) write(line func(name, text string), room int) {
	line("span", termtext.Clip(s.title(), room))
	line("", fmt.Sprintf("start %s  wall %s  cpu %s", s.Start.UTC().Format(time.RFC3339Nano), s.wall(), duration(s.CPU)))
	if s.TraceID != "" {
		line("", "trace "+s.TraceID)
	}
	if s.Err {
		line("", termtext.Clip("error "+s.Status, room))
	}
	for _, a := range s.Attributes[:min(len(s.Attributes), textAttributes)] {
		line("", termtext.Clip(attributeText(a), room))
	}
	if more := len(s.Attributes) - textAttributes; more > 0 {
		line("", termtext.Plural(more, "more attribute")+" in JSON")
	} else if s.AttributesOmitted {
		line("", "some attributes are left out: no room, or too many to look at")
	}
	if s.CPUAfterEnd > 0 {
		line("after", fmt.Sprintf("cpu %s in %s, in goroutines that it had started", duration(s.CPUAfterEnd), termtext.Plural(s.CPUAfterEndSamples, "sample")))
		line("", flameql.ForService(s.Service).OfType(flameql.CPU).WithEqual(labelkey.EndedSpanID, s.ProfileID).String())
	}
}

// sources counts the samples of the total, and its windows or their time.
func (a *Profile) sources() string {
	text := "in " + termtext.Plural(a.Samples, "sample")
	if a.query.Type.Kind == exporter.KindHeap {
		text = "from " + termtext.Plural(a.Samples, "allocation site")
	} else if a.ProfileIDs > 0 {
		text += " of " + termtext.Plural(a.ProfileIDs, "profile id")
	}
	if !a.Ranged {
		return text + ", " + termtext.Plural(a.Windows, "window")
	}
	return text + ", " + termtext.TimeRange(a.From, a.Until)
}

const textLines = 3

// withLines adds the lines with most self to a name, where they fit into n columns.
func withLines(name string, f flame.Function, total int64, n int) string {
	for i, line := range slices.Collect(slices.Chunk(f.Lines, 3)) {
		if i == textLines || line[1] == 0 {
			break
		}
		text := fmt.Sprintf("%s line %d %s", []string{":", ","}[min(i, 1)], line[0], termtext.Percent(line[1], total))
		if utf8.RuneCountInString(name)+len(text) > n {
			break
		}
		name += text
	}
	return name
}

// marked writes the name of a frame in n columns, after the mark of its type.
func marked(t flame.FrameType, name string, n int) string {
	return t.Mark() + termtext.ClipStart(termtext.OneLine(name), n-len(t.Mark()))
}

// frameTypes writes what ran in frames of each type, and what marks them.
func frameTypes(list []flame.TypeTotal, total int64) string {
	var parts []string
	for _, t := range list {
		parts = append(parts, fmt.Sprintf("%s%s %s", t.Type.Mark(), t.Type, termtext.Percent(t.Self, total)))
	}
	return strings.Join(parts, ", ")
}
