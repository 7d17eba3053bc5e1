// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package flame sums the stacks of a profile: as a flame graph and by function,
// and as the difference of two profiles. It has no queries and no HTTP.
package flame

import (
	"cmp"
	"context"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// Summary is the stacks of one profile, summed by path and by function.
// SummaryWithin makes it.
type Summary struct {
	stacks    []store.StackValue
	functions *Functions
	tree      *tree
	top       top
}

// stepsOfContext is the number of stacks, some ten thousand frames, between two checks of the
// context.
const stepsOfContext = 1024

// SummaryWithin sums stacks. Two summaries to compare must share their functions. If ctx ends
// it returns an empty summary and the error of ctx.
func SummaryWithin(ctx context.Context, stacks []store.StackValue, fns *Functions) (*Summary, error) {
	s := &Summary{stacks: stacks, functions: fns, tree: newTree(fns)}
	// On average a stack adds three or four nodes to the tree.
	s.tree.nodes = slices.Grow(s.tree.nodes, 4*len(stacks))
	var frames []frame
	for i, sv := range stacks {
		if err := ctx.Err(); i%stepsOfContext == 0 && err != nil {
			return &Summary{functions: fns, tree: newTree(fns)}, err
		}
		frames = fns.frames(frames[:0], sv.Stack)
		s.tree.add(frames, sv.Value)
		s.top.add(frames, sv.Value, fns)
	}
	s.tree.sum()
	return s, nil
}

// Functions returns the functions, those with most self first.
func (s *Summary) Functions() []Function { return s.top.list(s.functions) }

// Types returns the samples in frames of each type, the most first; nil for profiles without
// types.
func (s *Summary) Types() []TypeTotal {
	if !s.functions.typed {
		return nil
	}
	totals := map[FrameType]int64{}
	for i, sum := range s.top.sums {
		totals[s.functions.list[i].typ] += sum.self
	}
	list := []TypeTotal{}
	for typ, self := range totals {
		if self != 0 {
			list = append(list, TypeTotal{typ, self})
		}
	}
	slices.SortFunc(list, func(a, b TypeTotal) int { return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(a.Type, b.Type)) })
	return list
}

// Deep returns how much is in stacks of so many frames or more.
func (s *Summary) Deep(frames int) int64 {
	var sum int64
	for _, sv := range s.stacks {
		n := 0
		for _, loc := range sv.Stack {
			n += max(1, len(loc.Line))
		}
		if n >= frames {
			sum += sv.Value
		}
	}
	return sum
}
