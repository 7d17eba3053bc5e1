// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"slices"
)

// Function is what one function takes: Self by itself, Total with what it called.
type Function struct {
	Name string    `json:"name"`
	Type FrameType `json:"type,omitempty"`
	File string    `json:"file,omitempty"`
	// Package is that of an assembly function whose name has none.
	Package string `json:"package,omitempty"`
	// Line is where the function begins.
	Line  int64 `json:"line,omitempty"`
	Self  int64 `json:"self,omitempty"`
	Total int64 `json:"total"`
}

// top sums stacks by function. A stack counts once for a function, however often the
// function is on it.
type top struct {
	// sums is indexed by the numbers of the functions.
	sums   []functionSum
	stacks int
}

type functionSum struct {
	self, total int64
	// lastStack is the number of the last stack that was counted, from 1.
	lastStack int
}

// add adds a stack whose functions have numbers below n.
func (t *top) add(frames []frame, value int64, n int) {
	t.stacks++
	for len(t.sums) < n {
		t.sums = append(t.sums, functionSum{})
	}
	for _, f := range frames {
		if s := &t.sums[f.function]; s.lastStack != t.stacks {
			s.lastStack = t.stacks
			s.total += value
		}
	}
	if len(frames) > 0 {
		t.sums[frames[len(frames)-1].function].self += value
	}
}

// of returns the sum for a function, zero for one that is on no stack.
func (t *top) of(function int32) functionSum {
	if int(function) >= len(t.sums) {
		return functionSum{}
	}
	return t.sums[function]
}

func (t *top) list(fns *Functions) []Function {
	return t.listOf(fns, func(int32) bool { return true })
}

// listOf lists the functions that are wanted.
func (t *top) listOf(fns *Functions, wanted func(function int32) bool) []Function {
	list := make([]Function, 0, len(t.sums))
	for i, s := range t.sums {
		if s.lastStack == 0 || !wanted(int32(i)) {
			continue
		}
		fn := fns.list[i]
		listed := Function{Name: fn.name, Type: fn.typ, File: fn.file, Line: fn.line, Self: s.self, Total: s.total}
		if pkg := fn.pkg(); fn.qualified() != fn.name {
			listed.Package = pkg
		}
		list = append(list, listed)
	}
	slices.SortFunc(list, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return list
}
