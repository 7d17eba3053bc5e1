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
func writeFrames(b *strings.Builder, g *flame.Graph, total int64, n int) {
	lines := frameLines(g)
	fmt.Fprintf(b, "%7s %-10s  %s\n", "total", "", "frame")
	for _, l := range widestLines(lines, n) {
		// Of a deep stack the names matter more than the depth.
		depth := min(l.depth, termtext.Columns/3)
		fmt.Fprintf(b, "%7s %-10s  %s%s\n", termtext.Percent(l.total, total), termtext.Bar(l.total, total), strings.Repeat(" ", depth), l.text(g, termtext.Columns-20-depth))
	}
	if more := len(lines) - n; more > 0 {
		fmt.Fprintf(b, "%20s %s of frames; format=json has all\n", "...", termtext.Plural(more, "more line"))
	}
}

// frameLine is a line of the text form: a frame, or a run of frames that only call the
// next one.
type frameLine struct {
	first, last int // nodes
	total       int64
	// skipped is the number of frames after first.
	skipped int
	// number is the number of the line, depth counts the lines above it that lead to it.
	number, depth int
}

// text writes the frames of the line in n columns.
func (l frameLine) text(g *flame.Graph, n int) string {
	firstType, lastType := g.Type(l.first), g.Type(l.last)
	if l.skipped == 0 {
		return marked(lastType, g.Name(l.last), n)
	}
	first, last := termtext.OneLine(g.Name(l.first)), termtext.OneLine(g.Name(l.last))
	between := " > "
	if l.skipped > 1 {
		between = fmt.Sprintf(" > .. %d .. > ", l.skipped-1)
	}
	n -= len(between) + len(firstType.Mark()) + len(lastType.Mark())
	// The last frame takes the time: it gets at least half of the columns.
	last = termtext.ClipStart(last, max(n/2, n-utf8.RuneCountInString(first)))
	first = termtext.ClipStart(first, n-utf8.RuneCountInString(last))
	return firstType.Mark() + first + between + lastType.Mark() + last
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

// frameLines returns the lines below the root from top to bottom.
func frameLines(g *flame.Graph) []frameLine {
	children := make([]int, g.Len())
	for _, parent := range g.Parent[1:] {
		children[parent]++
	}
	var lines []frameLine
	lineOf := make([]int, g.Len()) // by node
	for node := 1; node < g.Len(); node++ {
		parent := int(g.Parent[node])
		if parent > 0 && children[parent] == 1 && g.Self[parent] == 0 {
			lineOf[node] = lineOf[parent]
			l := &lines[lineOf[node]]
			l.last, l.total = node, g.Total[node]
			l.skipped++
			continue
		}
		l := frameLine{first: node, last: node, total: g.Total[node], number: len(lines)}
		if parent > 0 {
			l.depth = lines[lineOf[parent]].depth + 1
		}
		lineOf[node] = len(lines)
		lines = append(lines, l)
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
	slices.SortStableFunc(widest, func(a, b frameLine) int { return cmp.Compare(b.total, a.total) })
	widest = widest[:n]
	slices.SortFunc(widest, func(a, b frameLine) int { return cmp.Compare(a.number, b.number) })
	return widest
}
