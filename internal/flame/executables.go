// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/sorting"
)

// Executable is what the code of an executable or library takes.
type Executable struct {
	// File is empty for code without a known mapping.
	File    string `json:"file"`
	BuildID string `json:"buildId,omitempty"`
	// Self is what ran in it, Total what ran in it or its callees.
	Self  int64 `json:"self"`
	Total int64 `json:"total"`
}

// executables sums stacks by the executables and libraries that have their code.
type executables struct {
	list   []executableSum
	byMap  map[*profile.Mapping]int
	byFile map[executableKey]int
	stacks int
	// last is the mapping of the last lookup, and mostly of the next.
	last      *profile.Mapping
	lastIndex int
}

// executableSum is one executable. Two mappings of one file are one executable.
type executableSum struct {
	Executable
	lastStack int
}

type executableKey struct{ file, buildID string }

func (e *executables) add(stack []*profile.Location, value int64) {
	e.stacks++
	for i, loc := range stack {
		x := e.of(loc.Mapping)
		if i == 0 {
			x.Self += value
		}
		if x.lastStack != e.stacks {
			x.lastStack = e.stacks
			x.Total += value
		}
	}
}

func (e *executables) of(m *profile.Mapping) *executableSum {
	if e.byMap != nil && m == e.last {
		return &e.list[e.lastIndex]
	}
	i, ok := e.byMap[m]
	if !ok {
		if e.byMap == nil {
			e.byMap, e.byFile = map[*profile.Mapping]int{}, map[executableKey]int{}
		}
		var key executableKey
		if m != nil {
			key = executableKey{m.File, m.BuildID}
		}
		if i, ok = e.byFile[key]; !ok {
			i = len(e.list)
			e.list = append(e.list, executableSum{Executable: Executable{File: key.file, BuildID: key.buildID}})
			e.byFile[key] = i
		}
		e.byMap[m] = i
	}
	e.last, e.lastIndex = m, i
	return &e.list[i]
}

func (e *executables) sorted() []Executable {
	list := make([]Executable, 0, len(e.list))
	for _, x := range e.list {
		list = append(list, x.Executable)
	}
	sorting.Func(list, func(a, b Executable) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.File, b.File), cmp.Compare(a.BuildID, b.BuildID))
	})
	return list
}
