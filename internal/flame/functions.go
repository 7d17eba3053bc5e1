// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// Functions numbers functions, so that stacks are summed without hashing a name for
// every frame. It is not safe for concurrent use.
type Functions struct {
	list       []function
	byName     map[string]int32
	byFunc     map[*store.Function]int32
	byLocation map[*store.Location][]frame
}

// function is what a frame of a flame graph shows. Functions are merged by name: one
// that is inlined in one place and called in another is one function.
type function struct {
	name string
	file string
	line int64
}

// frame is a function on a stack.
type frame struct {
	// function is its index in Functions.list.
	function int32
	// inlined says that the function was compiled into its caller.
	inlined bool
}

// NewFunctions returns an empty table.
func NewFunctions() *Functions {
	// The profile of a server's span has some hundred functions.
	const some = 512
	return &Functions{
		list:       make([]function, 0, some),
		byName:     make(map[string]int32, some),
		byFunc:     make(map[*store.Function]int32, some),
		byLocation: make(map[*store.Location][]frame, some),
	}
}

// frames appends the frames of a stack to buf, from the root to the leaf.
func (f *Functions) frames(buf []frame, stack *store.Stack) []frame {
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
func (f *Functions) location(loc *store.Location) []frame {
	if len(loc.Lines) == 0 {
		return []frame{{function: f.add(function{name: addressName(loc)})}}
	}
	frames := make([]frame, 0, len(loc.Lines))
	for i, line := range slices.Backward(loc.Lines) {
		frames = append(frames, frame{function: f.line(loc, line), inlined: i < len(loc.Lines)-1})
	}
	return frames
}

func (f *Functions) line(loc *store.Location, line store.Line) int32 {
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

func (f *Functions) add(fn function) int32 {
	if fn.name == "" {
		fn.name = "(unnamed)"
	}
	id, ok := f.byName[fn.name]
	if !ok {
		id = int32(len(f.list))
		f.list = append(f.list, fn)
		f.byName[fn.name] = id
	} else if old := &f.list[id]; fn.file != "" && (old.file == "" || cmp.Or(cmp.Compare(fn.file, old.file), cmp.Compare(fn.line, old.line)) < 0) {
		// The choice must not depend on the order of the stacks.
		*old = fn
	}
	return id
}

// addressName names a location without symbols by its library and its address.
func addressName(loc *store.Location) string {
	name := fmt.Sprintf("%#x", loc.Address)
	if loc.Mapping != nil && loc.Mapping.File != "" {
		name = path.Base(loc.Mapping.File) + " " + name
	}
	return name
}
