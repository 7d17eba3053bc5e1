// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"
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
	list      []*executableSum
	byMapping map[*profile.Mapping]*executableSum
	stacks    int
}

// executableSum is one executable. Two mappings of one file are one executable.
type executableSum struct {
	Executable
	lastStack int
}

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
	x := e.byMapping[m]
	if x != nil {
		return x
	}
	var of Executable
	if m != nil {
		of = Executable{File: m.File, BuildID: m.BuildID}
	}
	i := slices.IndexFunc(e.list, func(x *executableSum) bool { return x.File == of.File && x.BuildID == of.BuildID })
	if i < 0 {
		i = len(e.list)
		e.list = append(e.list, &executableSum{Executable: of})
	}
	if e.byMapping == nil {
		e.byMapping = map[*profile.Mapping]*executableSum{}
	}
	e.byMapping[m] = e.list[i]
	return e.list[i]
}

func (e *executables) sorted() []Executable {
	list := make([]Executable, 0, len(e.list))
	for _, x := range e.list {
		list = append(list, x.Executable)
	}
	slices.SortFunc(list, func(a, b Executable) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.File, b.File), cmp.Compare(a.BuildID, b.BuildID))
	})
	return list
}
