// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"path"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// function is what a frame of a flame graph is known by. Functions are merged
// by name: one that was inlined in one place and called in another is one.
type function struct {
	name string
	file string
	line int64
}

// functions gives small numbers to functions, so that a tree of them is built
// without hashing their names at every frame.
type functions struct {
	list       []function
	byName     map[string]int32
	byFunc     map[*store.Function]int32
	byLocation map[*store.Location]int32
}

func newFunctions() *functions {
	return &functions{
		byName:     map[string]int32{},
		byFunc:     map[*store.Function]int32{},
		byLocation: map[*store.Location]int32{},
	}
}

// id returns the number of a line's function.
func (f *functions) id(loc *store.Location, line store.Line) int32 {
	if line.Function == nil {
		return f.address(loc)
	}
	id, ok := f.byFunc[line.Function]
	if !ok {
		at := line.Function.StartLine
		if at == 0 {
			at = line.Line
		}
		id = f.add(function{name: line.Function.Name, file: line.Function.File, line: at})
		f.byFunc[line.Function] = id
	}
	return id
}

// address returns the number of a location without symbols, which is known by
// its address and its library.
func (f *functions) address(loc *store.Location) int32 {
	id, ok := f.byLocation[loc]
	if !ok {
		name := fmt.Sprintf("%#x", loc.Address)
		if loc.Mapping != nil && loc.Mapping.File != "" {
			name = path.Base(loc.Mapping.File) + " " + name
		}
		id = f.add(function{name: name})
		f.byLocation[loc] = id
	}
	return id
}

func (f *functions) add(fn function) int32 {
	if fn.name == "" {
		fn.name = "(unnamed)"
	}
	id, ok := f.byName[fn.name]
	if !ok {
		id = int32(len(f.list))
		f.list = append(f.list, fn)
		f.byName[fn.name] = id
	}
	return id
}

// frames calls visit for every frame of a stack from the root to the leaf.
func (f *functions) frames(stack *store.Stack, visit func(fn int32, inlined bool)) {
	for _, loc := range slices.Backward(stack.Locations) {

		if len(loc.Lines) == 0 {
			visit(f.address(loc), false)
			continue
		}
		for j, v := range slices.Backward(loc.Lines) {
			visit(f.id(loc, v), j < len(loc.Lines)-1)
		}
	}
}
