// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// frameLine is a line of the text form: a frame, or a run of frames each of
// which does nothing but call the next.
type frameLine struct {
	first, last *flameNode
	// skipped is the number of frames of the run after the first.
	skipped int
	// depth counts lines, not frames.
	depth int
}

// text writes the frames of the line in n columns.
func (l frameLine) text(n int) string {
	first, last := oneLine(l.first.Name), oneLine(l.last.Name)
	if l.skipped == 0 {
		return clipFunction(last, n)
	}
	between := " > "
	if l.skipped > 1 {
		between = fmt.Sprintf(" > .. %d .. > ", l.skipped-1)
	}
	n -= len(between)
	// The last one takes the time: it gets what the first one leaves, and half
	// at least.
	last = clipFunction(last, max(n/2, n-utf8.RuneCountInString(first)))
	return clipFunction(first, n-utf8.RuneCountInString(last)) + between + last
}

// frameLines returns the lines below root from top to bottom.
func frameLines(root *flameNode) []frameLine {
	type entry struct {
		node  *flameNode
		depth int
	}
	var (
		lines []frameLine
		stack []entry
	)
	push := func(children []*flameNode, depth int) {
		for _, child := range slices.Backward(children) {
			stack = append(stack, entry{child, depth})
		}
	}
	push(root.Children, 0)
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		line := frameLine{first: e.node, last: e.node, depth: e.depth}
		for len(line.last.Children) == 1 && line.last.Self == 0 {
			line.last = line.last.Children[0]
			line.skipped++
		}
		lines = append(lines, line)
		push(line.last.Children, e.depth+1)
	}
	return lines
}

// widestLines returns at most n lines, in their order. With a line stay those
// above it, which are at least as wide.
func widestLines(lines []frameLine, n int) []frameLine {
	if len(lines) <= n {
		return lines
	}
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(lines[b].last.Total, lines[a].last.Total), cmp.Compare(a, b))
	})
	order = order[:n]
	slices.Sort(order)
	widest := make([]frameLine, 0, n)
	for _, i := range order {
		widest = append(widest, lines[i])
	}
	return widest
}
