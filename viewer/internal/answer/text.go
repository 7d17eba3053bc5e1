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
	"github.com/spanprof/spanprof/internal/termtext"
)

const (
	// textFunctions and textDiffRows bound the text form.
	textFunctions = 30
	textDiffRows  = 40
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
	if f := a.focus; f != nil {
		writeFocus(&b, f, a.Total, a.Unit)
		return b.String()
	}
	writeFunctions(&b, a.summary.Functions(), a.Total, a.Unit)
	return b.String()
}

// header writes what is selected, in lines that begin with indent.
func (a *Profile) header(b *strings.Builder, indent string) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%s%-9s%s\n", indent, name, termtext.OneLine(fmt.Sprintf(format, args...)))
	}
	room := termtext.Columns - len(indent) - 9
	prose := func(name, text string) {
		if text != "" {
			termtext.Prose(b, indent+name, len(indent)+9, text)
		}
	}
	for i, text := range a.Answer.text() {
		prose([]string{"answer", ""}[min(i, 1)], text)
	}
	line("query", "%s", a.Query)
	if s := a.Span; s != nil {
		line("span", "%s", termtext.Clip(s.title(), room))
		line("", "start %s  wall %s  cpu %s", s.Start.UTC().Format(time.RFC3339Nano), s.wall(), termtext.Value(s.CPUNs, termtext.Nanoseconds))
		if s.TraceID != "" {
			line("", "trace %s", s.TraceID)
		}
		if s.Err {
			line("", "error %s", termtext.Clip(s.Status, room-len("error ")))
		}
		for _, a := range s.Attributes {
			line("", "%s", termtext.Clip(a.text(), room))
		}
		if s.AttributesOmitted {
			line("", "some attributes are left out: no room, or too many to look at")
		}
		if s.AfterEnd != nil {
			line("after", "%s", s.AfterEnd.text())
			line("", "%s", s.AfterEnd.Query)
		}
		for i, text := range s.longestWaits() {
			prose([]string{"exactly", ""}[min(i, 1)], termtext.OneLine(text))
		}
	}
	line("total", "%s %s%s %s%s", a.Measure, termtext.Value(a.Total, a.Unit), plusMinus(a.ErrorNs), a.sources(), a.windows())
	prose("waits", a.waits())
	prose("note", a.Note)
	prose("empty", a.Empty)
	if base := a.Baseline; base != nil && !base.Empty {
		if utf8.RuneCountInString(base.Query+base.Meaning) <= room-len("  ()") {
			line("baseline", "%s  (%s)", base.Query, base.Meaning)
		} else {
			line("baseline", "%s", base.Query)
			prose("", "("+base.Meaning+")")
		}
	}
	if c := a.WithChildren; c != nil {
		line("children", "%s", c.Query)
		prose("", "("+c.Meaning+")")
	}
	for _, k := range a.Kinds {
		if k.Type != a.query.Type.Name && k.Samples > 0 {
			line("also", "%s  (%s)", k.Query, k.Measure)
		}
	}
	for _, s := range a.Trace {
		if s.ProfileID != a.Span.ProfileID {
			text := fmt.Sprintf("%s  wall %s  cpu %s  ", s.ProfileID, s.wall(), termtext.Value(s.CPUNs, termtext.Nanoseconds))
			line("trace", "%s%s%s", text, termtext.Clip(s.title(), room-utf8.RuneCountInString(text+s.kind())), s.kind())
		}
	}
	if a.TraceOmitted > 0 {
		line("trace", "and %s", termtext.Plural(a.TraceOmitted, "more span"))
	}
	if s := a.Status; s != nil && !strings.Contains(a.Empty, strings.TrimSuffix(s.Message, ".")) {
		prose("status", s.Message)
	}
}

// windows counts the windows of the total, with their time if it is known.
func (a *Profile) windows() string {
	if !a.Ranged {
		return ", " + termtext.Plural(a.Windows, "window")
	}
	if a.Windows == 0 {
		return ""
	}
	return ", " + termtext.TimeRange(a.From, a.Until)
}

// sources counts the samples of the total.
func (a *Profile) sources() string {
	switch a.query.Type.Kind {
	case exporter.KindHeap:
		return "from " + termtext.Plural(a.Samples, "allocation site")
	case exporter.KindMutex, exporter.KindBlock:
		return "in " + termtext.Plural(a.Samples, "wait")
	}
	text := "in " + termtext.Plural(a.Samples, "sample") + a.ids()
	if a.ExpectedSamples > 0 {
		text += fmt.Sprintf(" (%s expected for each goroutine)", termtext.Expected(a.ExpectedSamples))
	}
	return text
}

// ids counts the ids of the samples, if that is known.
func (a *Profile) ids() string {
	if a.Ranged && a.ProfileIDs == 0 {
		return ""
	}
	return " of " + termtext.Plural(a.ProfileIDs, "profile id")
}

// writeFunctions writes the functions with most self.
func writeFunctions(b *strings.Builder, functions []flame.Function, total int64, unit string) {
	fmt.Fprintf(b, "%10s %7s %10s %7s  %s\n", "self", "", "total", "", "function")
	for _, f := range functions[:min(len(functions), textFunctions)] {
		fmt.Fprintf(b, "%10s %7s %10s %7s  %s\n", termtext.Value(f.Self, unit), termtext.Percent(f.Self, total), termtext.Value(f.Total, unit), termtext.Percent(f.Total, total), withLines(marked(f.Type, f.Name, termtext.Columns-39), f, total, termtext.Columns-39))
	}
	if more := len(functions) - textFunctions; more > 0 {
		fmt.Fprintf(b, "%38s %s\n", "...", termtext.Plural(more, "more function"))
	}
}

// textLines bounds the lines of a function in the text form.
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

// writeFocus writes a function with its callers and its callees.
func writeFocus(b *strings.Builder, f *flame.Focus, total int64, unit string) {
	fmt.Fprintf(b, "function %s\n", marked(f.Function.Type, f.Function.Name, termtext.Columns-9))
	if f.Function.Total == 0 {
		b.WriteString("         is on no stack of this profile\n")
		return
	}
	if f.Function.File != "" {
		fmt.Fprintf(b, "         %s\n", termtext.ClipStart(fmt.Sprintf("%s:%d", termtext.OneLine(f.Function.File), f.Function.Line), termtext.Columns-9))
	}
	fmt.Fprintf(b, "         self %s (%s)  total %s (%s)\n", termtext.Value(f.Function.Self, unit), termtext.Percent(f.Function.Self, total), termtext.Value(f.Function.Total, unit), termtext.Percent(f.Function.Total, total))
	for line := range slices.Chunk(f.Function.Lines, 3) {
		fmt.Fprintf(b, "         line %d self %s (%s)  total %s (%s)\n", line[0], termtext.Value(line[1], unit), termtext.Percent(line[1], total), termtext.Value(line[2], unit), termtext.Percent(line[2], total))
	}
	b.WriteString("\ncallers\n")
	writeNext(b, f.Callers, total)
	b.WriteString("\ncallees\n")
	writeNext(b, f.Callees, total)
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

// writeNext writes the functions next to the root of a graph, the widest first.
func writeNext(b *strings.Builder, g *flame.Graph, total int64) {
	for node, n := 1, 0; node < g.Len() && n < textFunctions; node++ {
		if g.Parent[node] == 0 {
			n++
			fmt.Fprintf(b, "%7s %-10s  %s\n", termtext.Percent(g.Total[node], total), termtext.Bar(g.Total[node], total), marked(g.Type(node), g.Name(node), termtext.Columns-20))
		}
	}
}
