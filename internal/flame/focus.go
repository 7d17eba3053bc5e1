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
// frames. For an unknown name both are empty. Functions of several types that share a
// name are summed.
func (s *Summary) Focus(name string, maxNodes int) *Focus {
	f, callers, callees := s.focus(name)
	graph := func(t *tree) *Node {
		root := t.flame(maxNodes, nil, nil)
		root.Name = name
		return root
	}
	f.Callers, f.Callees = graph(callers), graph(callees)
	return f
}

// CallersPart and CalleesPart return a part of the graphs of Focus as Part does.
func (s *Summary) CallersPart(name string, p Part) (part *Node, path []*Node) {
	_, callers, _ := s.focus(name)
	return callers.part(p, nil)
}

// CalleesPart is as CallersPart.
func (s *Summary) CalleesPart(name string, p Part) (part *Node, path []*Node) {
	_, _, callees := s.focus(name)
	return callees.part(p, nil)
}

// focus sums the stacks with a function by what is above and below it.
func (s *Summary) focus(name string) (f *Focus, callers, callees *tree) {
	f = &Focus{Function: Function{Name: name}}
	callers, callees = newTree(s.functions), newTree(s.functions)
	ids := s.functions.named(name)
	var frames []frame
	for _, sv := range s.stacks {
		frames = s.functions.frames(frames[:0], sv.Stack)
		i := slices.IndexFunc(frames, func(f frame) bool { return slices.Contains(ids, f.function) })
		if i < 0 {
			continue
		}
		f.Function.Total += sv.Value
		if slices.Contains(ids, frames[len(frames)-1].function) {
			f.Function.Self += sv.Value
		}
		slices.Reverse(frames[:i])
		callers.add(frames[:i], sv.Value)
		callees.add(frames[i+1:], sv.Value)
	}
	for _, id := range ids {
		if fn := s.functions.list[id]; f.Function.File == "" {
			f.Function.Type, f.Function.File, f.Function.Line = fn.typ, fn.file, fn.line
		}
	}
	callers.sum()
	callees.sum()
	return f, callers, callees
}
