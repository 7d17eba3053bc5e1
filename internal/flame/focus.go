// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import "slices"

// Focus is a function with its callers and callees. A stack on which the function
// is more than once counts once, at the call nearest to the root: recursion is among
// the callees.
type Focus struct {
	Function Function
	// The graphs have the function as their root. The children are its callers or its
	// callees.
	Callers *Graph
	Callees *Graph
}

// Focus sums the stacks with a function by the functions above and below it. For an unknown
// name both graphs are empty. Functions of several types that share a name are summed.
func (s *Summary) Focus(name string) *Focus {
	f := &Focus{Function: Function{Name: name}}
	callers, callees := newTree(s.functions), newTree(s.functions)
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
	for _, fn := range s.Functions() {
		if fn.Name == name && f.Function.File == "" {
			f.Function.Type, f.Function.File, f.Function.Line, f.Function.Lines = fn.Type, fn.File, fn.Line, fn.Lines
		}
	}
	if len(ids) > 0 {
		callers.nodes[0].function, callees.nodes[0].function = ids[0], ids[0]
	}
	callers.sum()
	callees.sum()
	f.Callers, f.Callees = callers.graph(nil, &s.top, MaxNodes), callees.graph(nil, &s.top, MaxNodes)
	return f
}
