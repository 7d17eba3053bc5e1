// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/termtext"
)

// writeFrames writes the widest frames as a tree, in n lines at most. A run of
// frames that only call the next one takes one line.
func writeFrames(b *strings.Builder, root *flame.Node, total int64, n int) {
	lines := frameLines(root)
	fmt.Fprintf(b, "%7s %-10s  %s\n", "total", "", "frame")
	for _, l := range widestLines(lines, n) {
		// Of a deep stack the names matter more than how deep they are.
		depth := min(l.depth, termtext.Columns/3)
		fmt.Fprintf(b, "%7s %-10s  %s%s\n", termtext.Percent(l.last.Total, total), termtext.Bar(l.last.Total, total), strings.Repeat(" ", depth), l.text(termtext.Columns-20-depth))
	}
	if more := len(lines) - n; more > 0 {
		fmt.Fprintf(b, "%20s %s of frames; format=json has more\n", "...", termtext.Plural(more, "more line"))
	}
}

// frameLine is a line of the text form: a frame, or a run of frames that only call the
// next one.
type frameLine struct {
	first, last *flame.Node
	// skipped is the number of frames after first.
	skipped int
	// number is that of the line, depth counts the lines above it that lead to it.
	number, depth int
}

// text writes the frames of the line in n columns.
func (l frameLine) text(n int) string {
	if l.skipped == 0 {
		return marked(l.last.Type, l.last.Name, n)
	}
	first, last := termtext.OneLine(l.first.Name), termtext.OneLine(l.last.Name)
	between := " > "
	if l.skipped > 1 {
		between = fmt.Sprintf(" > .. %d .. > ", l.skipped-1)
	}
	n -= len(between) + len(l.first.Type.Mark()) + len(l.last.Type.Mark())
	// The last frame takes the time: it gets at least half of the columns.
	last = termtext.ClipStart(last, max(n/2, n-utf8.RuneCountInString(first)))
	first = termtext.ClipStart(first, n-utf8.RuneCountInString(last))
	return l.first.Type.Mark() + first + between + l.last.Type.Mark() + last
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

// frameLines returns the lines below root from top to bottom.
func frameLines(root *flame.Node) []frameLine {
	type entry struct {
		node  *flame.Node
		depth int
	}
	var (
		lines []frameLine
		stack []entry
	)
	push := func(children []*flame.Node, depth int) {
		for _, child := range slices.Backward(children) {
			stack = append(stack, entry{child, depth})
		}
	}
	push(root.Children, 0)
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		line := frameLine{first: e.node, last: e.node, number: len(lines), depth: e.depth}
		for len(line.last.Children) == 1 && line.last.Self == 0 {
			line.last = line.last.Children[0]
			line.skipped++
		}
		lines = append(lines, line)
		push(line.last.Children, e.depth+1)
	}
	return lines
}

// widestLines returns the n widest lines, in their order. The lines above a line are at
// least as wide and come before it, so that they stay too.
func widestLines(lines []frameLine, n int) []frameLine {
	if len(lines) <= n {
		return lines
	}
	widest := slices.Clone(lines)
	slices.SortStableFunc(widest, func(a, b frameLine) int { return cmp.Compare(b.last.Total, a.last.Total) })
	widest = widest[:n]
	slices.SortFunc(widest, func(a, b frameLine) int { return cmp.Compare(a.number, b.number) })
	return widest
}
