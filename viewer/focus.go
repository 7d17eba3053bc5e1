// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "github.com/spanprof/spanprof/store"

// maxFocusNodes bounds each of the two graphs around a function.
const maxFocusNodes = 1000

// focus is a function with what called it and what it called. A stack on which
// it is more than once counts once, at the call nearest to the root: recursion
// is among the callees.
type focus struct {
	Function functionJSON `json:"function"`
	// Callers is a graph whose root is the function and whose children are
	// its callers, Callees one whose children are what it called.
	Callers *flameNode `json:"callers"`
	Callees *flameNode `json:"callees"`
}

// newFocus looks for a function by its name. Without it, both graphs are empty.
func newFocus(sel *store.Selection, name string, b *breakdown) *focus {
	fns := b.tree.functions
	f := &focus{Function: functionJSON{Name: name}}
	callers, callees := newTree(fns), newTree(fns)
	if id, ok := fns.byName[name]; ok {
		fn, sum := fns.list[id], b.totals.of(id)
		f.Function = functionJSON{Name: name, File: fn.file, Line: fn.line, Self: sum.self, Total: sum.total}
		var frames []frame
		for _, sv := range sel.Stacks {
			frames = fns.frames(frames[:0], sv.Stack)
			for i, frame := range frames {
				if frame.function == id {
					callers.addReversed(frames[:i], sv.Value)
					callees.add(frames[i+1:], sv.Value)
					break
				}
			}
		}
	}
	for _, t := range []struct {
		tree *tree
		root **flameNode
	}{{callers, &f.Callers}, {callees, &f.Callees}} {
		t.tree.sum()
		*t.root = t.tree.flame(maxFocusNodes)
		(*t.root).Name = name
	}
	return f
}
