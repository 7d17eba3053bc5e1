// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"slices"
)

// Function is what one function takes: Self by itself, Total with what it called.
type Function struct {
	Name        string
	Type        FrameType
	Self, Total int64
	// Lines has three numbers for each line with samples: the line, its self and its total.
	Lines []int64
}

// top sums stacks by function. A stack counts once for a function, however often the
// function is on it.
type top struct {
	// sums is indexed by the numbers of the functions, lines by the numbers of their lines.
	sums   []functionSum
	lines  []functionSum
	stacks int
}

type functionSum struct {
	self, total int64
	// lastStack is the number of the last stack that was counted, from 1.
	lastStack int
}

// add adds a stack of these functions.
func (t *top) add(frames []frame, value int64, fns *Functions) {
	t.stacks++
	t.sums = grown(t.sums, len(fns.list))
	t.lines = grown(t.lines, len(fns.lines))
	for i, f := range frames {
		leaf := i == len(frames)-1
		t.sums[f.function].add(t.stacks, value, leaf)
		if f.line >= 0 {
			t.lines[f.line].add(t.stacks, value, leaf)
		}
	}
}

func grown(sums []functionSum, n int) []functionSum {
	if n <= len(sums) {
		return sums
	}
	return append(sums, make([]functionSum, n-len(sums))...)
}

func (s *functionSum) add(stack int, value int64, leaf bool) {
	if s.lastStack != stack {
		s.lastStack = stack
		s.total += value
	}
	if leaf {
		s.self += value
	}
}

// of returns the sum for a function, zero for one that is on no stack.
func (t *top) of(function int32) functionSum {
	if int(function) >= len(t.sums) {
		return functionSum{}
	}
	return t.sums[function]
}

// list returns the functions, those with most self first.
func (t *top) list(fns *Functions) []Function {
	lines := t.linesOf(fns)
	list := make([]Function, 0, len(t.sums))
	for i, s := range t.sums {
		if s.lastStack == 0 {
			continue
		}
		fn := &fns.list[i]
		list = append(list, Function{fn.name, fn.typ, s.self, s.total, lines[i]})
	}
	slices.SortFunc(list, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return list
}

// linesOf returns three numbers for each line of each function: the line, its self and its total.
// The lines with most self come first.
func (t *top) linesOf(fns *Functions) [][]int64 {
	triples := make([][][3]int64, len(fns.list))
	for id, sum := range t.lines {
		if key := fns.lines[id]; sum.lastStack > 0 {
			triples[key.function] = append(triples[key.function], [3]int64{key.line, sum.self, sum.total})
		}
	}
	flat := make([][]int64, len(triples))
	for i, lines := range triples {
		slices.SortFunc(lines, func(a, b [3]int64) int {
			return cmp.Or(cmp.Compare(b[1], a[1]), cmp.Compare(b[2], a[2]), cmp.Compare(a[0], b[0]))
		})
		flat[i] = make([]int64, 0, 3*len(lines))
		for _, line := range lines {
			flat[i] = append(flat[i], line[:]...)
		}
	}
	return flat
}
