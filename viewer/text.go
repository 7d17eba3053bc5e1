// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spanprof/spanprof/exporter"
)

const (
	// textFunctions and textFrames bound the text form: with its header it
	// is about 60 lines, which a terminal shows without scrolling far.
	textFunctions   = 15
	textFrames      = 32
	textDiffRows    = 40
	textExecutables = 8
)

// text is the answer for a terminal.
func (a *answer) text() string {
	var b strings.Builder
	a.header(&b, "")
	if a.Empty != "" {
		return b.String()
	}
	b.WriteByte('\n')
	if f := a.Focus; f != nil {
		f.writeTo(&b, a.Total, a.Unit)
		return b.String()
	}
	writeFunctions(&b, a.Functions, a.FunctionsOmitted, a.Total, a.Unit)
	b.WriteByte('\n')
	if len(a.Executables) > 1 {
		writeExecutables(&b, a.Executables, a.Total, a.Unit)
		b.WriteByte('\n')
	}
	writeFrames(&b, a.Flame, a.Total, textFrames)
	return b.String()
}

// header writes what the answer is of, in lines that begin with indent.
func (a *answer) header(b *strings.Builder, indent string) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%s%-9s%s\n", indent, name, oneLine(fmt.Sprintf(format, args...)))
	}
	room := textColumns - len(indent) - 9
	prose := func(name, text string) {
		for _, part := range wrap(text, room) {
			line(name, "%s", part)
			name = ""
		}
	}
	line("query", "%s", a.Query)
	if s := a.Span; s != nil {
		line("span", "%s", clip(s.title(), room))
		line("", "start %s  wall %s  cpu %s", s.Start.UTC().Format(time.RFC3339Nano), s.wall(), formatValue(s.CPUNs, unitNanoseconds))
		if s.TraceID != "" {
			line("", "trace %s", s.TraceID)
		}
		if s.Err {
			line("", "error %s", clip(s.Status, room-len("error ")))
		}
	}
	line("total", "%s %s %s, %s", a.Measure, formatValue(a.Total, a.Unit), a.sources(), plural(a.Windows, "window"))
	if a.Note != "" {
		prose("note", a.Note)
	}
	if a.Empty != "" {
		prose("empty", a.Empty)
	}
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
		if k.Type != a.query.typ.name && k.Samples > 0 {
			line("also", "%s  (%s)", k.Query, k.Measure)
		}
	}
	for _, s := range a.Trace {
		if s.ProfileID != a.Span.ProfileID {
			text := fmt.Sprintf("%s  wall %s  cpu %s  ", s.ProfileID, s.wall(), formatValue(s.CPUNs, unitNanoseconds))
			line("trace", "%s%s", text, clip(s.title(), room-utf8.RuneCountInString(text)))
		}
	}
	if a.TraceOmitted > 0 {
		line("trace", "and %s", plural(a.TraceOmitted, "more span"))
	}
	if s := a.Status; s != nil && !strings.Contains(a.Empty, strings.TrimSuffix(s.Message, ".")) {
		prose("status", s.Message)
	}
}

// sources says how many measurements the total is the sum of.
func (a *answer) sources() string {
	switch a.selection.Kind {
	case exporter.KindHeap:
		return "from " + plural(a.Samples, "allocation site")
	case exporter.KindMutex, exporter.KindBlock:
		return "in " + plural(a.Samples, "wait")
	}
	text := "in " + plural(a.Samples, "sample") + " of " + plural(a.ProfileIDs, "profile id")
	if a.ExpectedSamples > 0 {
		text += fmt.Sprintf(" (%s expected for each goroutine)", formatExpected(a.ExpectedSamples))
	}
	return text
}

// writeFunctions writes the functions that take most themselves.
func writeFunctions(b *strings.Builder, functions []functionJSON, omitted int, total int64, unit string) {
	fmt.Fprintf(b, "%10s %7s %10s %7s  %s\n", "self", "", "total", "", "function")
	for _, f := range functions[:min(len(functions), textFunctions)] {
		fmt.Fprintf(b, "%10s %7s %10s %7s  %s\n", formatValue(f.Self, unit), percent(f.Self, total), formatValue(f.Total, unit), percent(f.Total, total), clipFunction(oneLine(f.Name), textColumns-39))
	}
	if more := len(functions) + omitted - textFunctions; more > 0 {
		fmt.Fprintf(b, "%38s %s\n", "...", plural(more, "more function"))
	}
}

// writeExecutables writes where the code is from.
func writeExecutables(b *strings.Builder, executables []executableJSON, total int64, unit string) {
	fmt.Fprintf(b, "%10s %7s  %s\n", "self", "", "executable, build id")
	for _, x := range executables[:min(len(executables), textExecutables)] {
		fmt.Fprintf(b, "%10s %7s  %s %s\n", formatValue(x.Self, unit), percent(x.Self, total), clipFunction(oneLine(cmp.Or(x.File, "(unknown)")), textColumns-62), clip(oneLine(x.BuildID), 40))
	}
	if more := len(executables) - textExecutables; more > 0 {
		fmt.Fprintf(b, "%19s %s\n", "...", plural(more, "more executable"))
	}
}

// writeTo writes a function with its callers and its callees.
func (f *focus) writeTo(b *strings.Builder, total int64, unit string) {
	fmt.Fprintf(b, "function %s\n", clipFunction(oneLine(f.Function.Name), textColumns-9))
	if f.Function.Total == 0 {
		b.WriteString("         is on no stack of this profile\n")
		return
	}
	if f.Function.File != "" {
		fmt.Fprintf(b, "         %s\n", clipFunction(fmt.Sprintf("%s:%d", oneLine(f.Function.File), f.Function.Line), textColumns-9))
	}
	fmt.Fprintf(b, "         self %s (%s)  total %s (%s)\n", formatValue(f.Function.Self, unit), percent(f.Function.Self, total), formatValue(f.Function.Total, unit), percent(f.Function.Total, total))
	b.WriteString("\ncallers, the nearest first\n")
	writeFrames(b, f.Callers, total, textFrames/2)
	b.WriteString("\ncallees\n")
	writeFrames(b, f.Callees, total, textFrames/2)
}

// writeFrames writes the widest frames as a tree, in n lines at most. A run of
// frames that only call the next one takes one line.
func writeFrames(b *strings.Builder, root *flameNode, total int64, n int) {
	lines := frameLines(root)
	fmt.Fprintf(b, "%7s %-10s  %s\n", "total", "", "frame")
	for _, l := range widestLines(lines, n) {
		// Of a deep stack the names matter more than how deep they are.
		depth := min(l.depth, textColumns/3)
		fmt.Fprintf(b, "%7s %-10s  %s%s\n", percent(l.last.Total, total), bar(share(l.last.Total, total)), strings.Repeat(" ", depth), l.text(textColumns-20-depth))
	}
	if more := len(lines) - n; more > 0 {
		fmt.Fprintf(b, "%20s %s of frames; format=json has more\n", "...", plural(more, "more line"))
	}
}

// text is the comparison for a terminal.
func (c *comparison) text() string {
	var b strings.Builder
	b.WriteString("left\n")
	c.Left.header(&b, "  ")
	b.WriteString("right\n")
	c.Right.header(&b, "  ")
	if s := c.Status; s != nil && s.Message != "" {
		name := "status"
		for _, part := range wrap(oneLine(s.Message), textColumns-11) {
			fmt.Fprintf(&b, "%-11s%s\n", name, part)
			name = ""
		}
	}
	fmt.Fprintf(&b, "\n%7s %7s %9s  %s\n", "left", "right", "change", "function, by the change of its share of the total in percentage points")
	var shown [3]int
	for _, d := range c.Diff {
		// Sorted by sign: what takes more, then what takes less.
		s := sign(d.Delta)
		if s == 0 || shown[s] == textDiffRows/2 {
			continue
		}
		if s == 1 && shown[1] == 0 {
			b.WriteByte('\n')
		}
		shown[s]++
		fmt.Fprintf(&b, "%7s %7s %+6.1f pp  %s\n", percent(d.LeftTotal, c.Left.Total), percent(d.RightTotal, c.Right.Total), 100*d.Delta, clipFunction(oneLine(d.Name), textColumns-27))
	}
	if more := len(c.Diff) + c.DiffOmitted - shown[1] - shown[2]; more > 0 {
		fmt.Fprintf(&b, "%20s %s, differing less or not at all\n", "...", plural(more, "more function"))
	}
	return b.String()
}

func percent(part, total int64) string {
	return fmt.Sprintf("%.1f%%", 100*share(part, total))
}

// bar draws a share in ten cells, by eighths.
func bar(share float64) string {
	eighths := min(max(int(share*80+0.5), 0), 80)
	full := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		full += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	// Printf pads by runes, which is what a terminal's cells are here.
	return full + strings.Repeat(" ", 10-utf8.RuneCountInString(full))
}
