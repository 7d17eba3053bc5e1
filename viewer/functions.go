// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// functions gives small numbers to functions, so that stacks are summed without
// hashing their names at every frame.
type functions struct {
	list       []function
	byName     map[string]int32
	byFunc     map[*store.Function]int32
	byLocation map[*store.Location][]frame
}

func newFunctions() *functions {
	// A span of a server has some hundred functions.
	const some = 512
	return &functions{
		list:       make([]function, 0, some),
		byName:     make(map[string]int32, some),
		byFunc:     make(map[*store.Function]int32, some),
		byLocation: make(map[*store.Location][]frame, some),
	}
}

// frames appends the frames of a stack to buf, from the root to the leaf.
func (f *functions) frames(buf []frame, stack *store.Stack) []frame {
	for _, loc := range slices.Backward(stack.Locations) {
		frames, ok := f.byLocation[loc]
		if !ok {
			frames = f.location(loc)
			f.byLocation[loc] = frames
		}
		buf = append(buf, frames...)
	}
	return buf
}

// location returns the frames of a location, the caller first.
func (f *functions) location(loc *store.Location) []frame {
	if len(loc.Lines) == 0 {
		return []frame{{function: f.add(function{name: addressName(loc)})}}
	}
	frames := make([]frame, 0, len(loc.Lines))
	for i, line := range slices.Backward(loc.Lines) {
		frames = append(frames, frame{function: f.line(loc, line), inlined: i < len(loc.Lines)-1})
	}
	return frames
}

func (f *functions) line(loc *store.Location, line store.Line) int32 {
	if line.Function == nil {
		return f.add(function{name: addressName(loc)})
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

func (f *functions) add(fn function) int32 {
	if fn.name == "" {
		fn.name = "(unnamed)"
	}
	id, ok := f.byName[fn.name]
	if !ok {
		id = int32(len(f.list))
		f.list = append(f.list, fn)
		f.byName[fn.name] = id
	} else if old := &f.list[id]; fn.file != "" && (old.file == "" || cmp.Or(cmp.Compare(fn.file, old.file), cmp.Compare(fn.line, old.line)) < 0) {
		// Of several with this name, whichever comes first.
		*old = fn
	}
	return id
}

// addressName names a location without symbols by its address and its library.
func addressName(loc *store.Location) string {
	name := fmt.Sprintf("%#x", loc.Address)
	if loc.Mapping != nil && loc.Mapping.File != "" {
		name = path.Base(loc.Mapping.File) + " " + name
	}
	return name
}
