// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// executables sums stacks by the executables and libraries that their code is
// from.
type executables struct {
	list   []executable
	byMap  map[*store.Mapping]int
	byFile map[executableKey]int
	stacks int
	// last is the mapping that was looked up last, and mostly is next.
	last      *store.Mapping
	lastIndex int
}

// executable is one of them. Two mappings of one file are one executable.
type executable struct {
	executableKey
	self, total int64
	lastStack   int
}

type executableKey struct{ file, buildID string }

func (e *executables) add(stack *store.Stack, value int64) {
	e.stacks++
	for i, loc := range stack.Locations {
		x := e.of(loc.Mapping)
		if i == 0 {
			x.self += value
		}
		if x.lastStack != e.stacks {
			x.lastStack = e.stacks
			x.total += value
		}
	}
}

func (e *executables) of(m *store.Mapping) *executable {
	if e.byMap != nil && m == e.last {
		return &e.list[e.lastIndex]
	}
	i, ok := e.byMap[m]
	if !ok {
		if e.byMap == nil {
			e.byMap, e.byFile = map[*store.Mapping]int{}, map[executableKey]int{}
		}
		var key executableKey
		if m != nil {
			key = executableKey{m.File, m.BuildID}
		}
		if i, ok = e.byFile[key]; !ok {
			i = len(e.list)
			e.list = append(e.list, executable{executableKey: key})
			e.byFile[key] = i
		}
		e.byMap[m] = i
	}
	e.last, e.lastIndex = m, i
	return &e.list[i]
}

// json returns the executables, the biggest self first.
func (e *executables) json() []executableJSON {
	list := make([]executableJSON, 0, len(e.list))
	for _, x := range e.list {
		list = append(list, executableJSON{File: x.file, BuildID: x.buildID, Self: x.self, Total: x.total})
	}
	slices.SortFunc(list, func(a, b executableJSON) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.File, b.File), cmp.Compare(a.BuildID, b.BuildID))
	})
	return list
}
