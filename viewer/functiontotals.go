// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"slices"
)

// functionTotals sums stacks by function. A stack counts once, however often
// the function is on it.
type functionTotals struct {
	functions *functions
	// sums is indexed by the functions' numbers.
	sums   []functionTotal
	stacks int
}

func (t *functionTotals) add(frames []frame, value int64) {
	t.stacks++
	for len(t.sums) < len(t.functions.list) {
		t.sums = append(t.sums, functionTotal{})
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

// of returns the sum for a function, zero for one that no stack has.
func (t *functionTotals) of(function int32) functionTotal {
	if int(function) >= len(t.sums) {
		return functionTotal{}
	}
	return t.sums[function]
}

// list returns the functions, the biggest self first.
func (t *functionTotals) list() []functionJSON {
	list := make([]functionJSON, 0, len(t.sums))
	for i, s := range t.sums {
		if s.lastStack == 0 {
			continue
		}
		fn := t.functions.list[i]
		list = append(list, functionJSON{Name: fn.name, File: fn.file, Line: fn.line, Self: s.self, Total: s.total})
	}
	slices.SortFunc(list, func(a, b functionJSON) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return list
}
