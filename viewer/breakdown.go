// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"

	"github.com/spanprof/spanprof/store"
)

// breakdown is a selection summed in the ways that the views show: by path, by
// function and by executable.
type breakdown struct {
	tree        *tree
	totals      functionTotals
	executables executables
}

// newBreakdown sums a selection. Two that are to be compared share their
// functions.
func newBreakdown(sel *store.Selection, fns *functions) *breakdown {
	b := &breakdown{tree: newTree(fns), totals: functionTotals{functions: fns}}
	// A stack has three or four nodes to itself, as a rule.
	b.tree.nodes = slices.Grow(b.tree.nodes, 4*len(sel.Stacks))
	var frames []frame
	for _, sv := range sel.Stacks {
		frames = fns.frames(frames[:0], sv.Stack)
		b.tree.add(frames, sv.Value)
		b.totals.add(frames, sv.Value)
		b.executables.add(sv.Stack, sv.Value)
	}
	b.tree.sum()
	return b
}
