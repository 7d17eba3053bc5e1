// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import "slices"

// Focus is a function with its callers and callees. A stack on which the function
// is more than once counts once, at the call nearest to the root: recursion is among
// the callees.
type Focus struct {
	Function Function `json:"function"`
	// Callers is a graph with the function as its root and its callers as
	// children, Callees one with its callees as children.
	Callers *Node `json:"callers"`
	Callees *Node `json:"callees"`
}

// Focus looks for a function by its name; each of the two graphs has at most maxNodes
// frames. For an unknown name both are empty.
func (s *Summary) Focus(name string, maxNodes int) *Focus {
	f := &Focus{Function: Function{Name: name}}
	callers, callees := newTree(s.functions), newTree(s.functions)
	if id, ok := s.functions.byName[name]; ok {
		fn, sum := s.functions.list[id], s.top.of(id)
		f.Function = Function{Name: name, File: fn.file, Line: fn.line, Self: sum.self, Total: sum.total}
		var frames []frame
		for _, sv := range s.stacks {
			frames = s.functions.frames(frames[:0], sv.Stack)
			for i, frame := range frames {
				if frame.function == id {
					slices.Reverse(frames[:i])
					callers.add(frames[:i], sv.Value)
					callees.add(frames[i+1:], sv.Value)
					break
				}
			}
		}
	}
	graph := func(t *tree) *Node {
		t.sum()
		root := t.flame(maxNodes, nil)
		root.Name = name
		return root
	}
	f.Callers, f.Callees = graph(callers), graph(callees)
	return f
}
