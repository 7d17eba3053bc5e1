// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// functionTotal is what one function takes, itself and with what it called. A
// stack counts once, however often the function is on it.
type functionTotal struct {
	name        string
	self, total int64
}

// sumFunctions sums a selection by function, the biggest self first.
func sumFunctions(sel *store.Selection) []functionTotal {
	functions := newFunctions()
	var (
		sums []functionTotal
		// seen holds the last stack that was counted for a function.
		seen []int
	)
	for i, sv := range sel.Stacks {
		leaf := int32(-1)
		functions.frames(sv.Stack, func(fn int32, _ bool) {
			if int(fn) == len(sums) {
				sums = append(sums, functionTotal{name: functions.list[fn].name})
				seen = append(seen, -1)
			}
			leaf = fn
			if seen[fn] != i {
				seen[fn] = i
				sums[fn].total += sv.Value
			}
		})
		if leaf >= 0 {
			sums[leaf].self += sv.Value
		}
	}
	slices.SortFunc(sums, func(a, b functionTotal) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name))
	})
	return sums
}
