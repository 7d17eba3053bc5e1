// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
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
	// textFunctions and textFrames bound the text form, which has about 60 lines
	// with its header.
	textFunctions   = 15
	textFrames      = 32
	textDiffRows    = 40
	textExecutables = 8
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
	b.WriteByte('\n')
	if len(a.Executables) > 1 {
		writeExecutables(&b, a.Executables, a.Total, a.Unit)
		b.WriteByte('\n')
	}
	writeFrames(&b, a.Flame, a.Total, textFrames)
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
		if when := s.when(); when != "" {
			line("", "when  %s  on a CPU, each %s", when, termtext.Value(s.DurationNs/textParts, termtext.Nanoseconds))
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
		for i, text := range s.exactly() {
			prose([]string{"exactly", ""}[min(i, 1)], termtext.OneLine(text))
		}
	}
	if a.ExactByName != nil {
		for i, text := range a.ExactByName.lines() {
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
	if b := a.ChildrenBaseline; b != nil {
		line("", "%s", b.Query)
		prose("", "("+b.Meaning+")")
	}
	for _, k := range a.Kinds {
		if k.Type != a.query.Type.Name && k.Samples > 0 {
			line("also", "%s  (%s)", k.Query, k.Measure)
		}
	}
	for _, s := range a.Trace {
		if s.ProfileID != a.Span.ProfileID {
			text := fmt.Sprintf("%s  wall %s  cpu %s  ", s.ProfileID, s.wall(), termtext.Value(s.CPUNs, termtext.Nanoseconds))
			line("trace", "%s%s", text, termtext.Clip(s.title(), room-utf8.RuneCountInString(text)))
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

// writeExecutables writes the executables with most self.
func writeExecutables(b *strings.Builder, executables []flame.Executable, total int64, unit string) {
	fmt.Fprintf(b, "%10s %7s  %s\n", "self", "", "executable, build id")
	for _, x := range executables[:min(len(executables), textExecutables)] {
		fmt.Fprintf(b, "%10s %7s  %s %s\n", termtext.Value(x.Self, unit), termtext.Percent(x.Self, total), termtext.ClipStart(termtext.OneLine(cmp.Or(x.File, "(unknown)")), termtext.Columns-62), termtext.Clip(termtext.OneLine(x.BuildID), 40))
	}
	if more := len(executables) - textExecutables; more > 0 {
		fmt.Fprintf(b, "%19s %s\n", "...", termtext.Plural(more, "more executable"))
	}
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
	b.WriteString("\ncallers, the nearest first\n")
	writeFrames(b, f.Callers, total, textFrames/2)
	b.WriteString("\ncallees\n")
	writeFrames(b, f.Callees, total, textFrames/2)
}

// Text returns the comparison for a terminal.
func (c *Comparison) Text() string {
	var b strings.Builder
	for i, side := range []*Profile{c.Left, c.Right} {
		fmt.Fprintf(&b, "%s: %s\n", []string{"left", "right"}[i], c.sideTitle(side, []string{c.LeftName, c.RightName}[i]))
		side.header(&b, "  ")
		if side.OfSpans > 1 {
			fmt.Fprintf(&b, "  %-9s%s for each of %d spans\n", "each", termtext.Value(side.Total/int64(side.OfSpans), side.Unit), side.OfSpans)
		}
	}
	if c.Note != "" {
		termtext.Prose(&b, "note", 11, c.Note)
	}
	if s := c.Status; s != nil && s.Message != "" {
		termtext.Prose(&b, "status", 11, s.Message)
	}
	perSpan, room := "", termtext.Columns-27
	if c.Left.OfSpans > 0 && c.Right.OfSpans > 0 {
		perSpan, room = fmt.Sprintf(" %10s", "per span"), room-11
	}
	fmt.Fprintf(&b, "\n%7s %7s %9s%s  %s\n", "left", "right", "change", perSpan, "function, by the change of its share of the total")
	more, less := 0, 0
	for _, d := range c.Diff {
		// Functions that take more come before those that take less.
		switch {
		case d.Delta > 0 && more < textDiffRows/2:
			more++
		case d.Delta < 0 && less < textDiffRows/2:
			if less == 0 {
				b.WriteByte('\n')
			}
			less++
		default:
			continue
		}
		if perSpan != "" {
			perSpan = fmt.Sprintf(" %10s", c.perSpan(d))
		}
		fmt.Fprintf(&b, "%7s %7s %+6.1f pp%s  %s\n", termtext.Percent(d.LeftTotal, c.Left.Total), termtext.Percent(d.RightTotal, c.Right.Total), 100*d.Delta, perSpan, marked(d.Type, d.Name, room))
	}
	if rest := len(c.Diff) + c.DiffOmitted - more - less; rest > 0 {
		fmt.Fprintf(&b, "%20s %s, differing less or not at all\n", "...", termtext.Plural(rest, "more function"))
	}
	return b.String()
}

// perSpan writes how much more a function takes in a span on the right.
func (c *Comparison) perSpan(d flame.DiffRow) string {
	change := d.RightTotal/int64(c.Right.OfSpans) - d.LeftTotal/int64(c.Left.OfSpans)
	if change < 0 {
		return "-" + termtext.Value(-change, c.Left.Unit)
	}
	return "+" + termtext.Value(change, c.Left.Unit)
}
