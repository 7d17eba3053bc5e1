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
	typed      bool // frames have a FrameType
	list       []function
	byName     map[functionKey]int32
	byFunc     map[*store.Function]int32
	byLocation map[*store.Location][]frame
}

// function is what a frame of a flame graph shows. Functions are merged by name: one
// that is inlined in one place and called in another is one function. The kernel's
// memset and that of C are two.
type function struct {
	functionKey
	file string
	line int64
}

type functionKey struct {
	name string
	typ  FrameType
}

// frame is a function on a stack.
type frame struct {
	// function is its index in Functions.list.
	function int32
	// inlined says that the function was compiled into its caller.
	inlined bool
}

// NewFunctions returns an empty table. typed says that frames have a type, as those of
// profiles that an eBPF agent has taken do.
func NewFunctions(typed bool) *Functions {
	// The profile of a server's span has some hundred functions.
	const some = 512
	return &Functions{
		typed:      typed,
		list:       make([]function, 0, some),
		byName:     make(map[functionKey]int32, some),
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
		return []frame{{function: f.address(loc)}}
	}
	frames := make([]frame, 0, len(loc.Lines))
	for i, line := range slices.Backward(loc.Lines) {
		frames = append(frames, frame{function: f.line(loc, line), inlined: i < len(loc.Lines)-1})
	}
	return frames
}

func (f *Functions) line(loc *store.Location, line store.Line) int32 {
	if line.Function == nil {
		return f.address(loc)
	}
	id, ok := f.byFunc[line.Function]
	// One function may be of several types: the kernel's memset, and that of C.
	if !ok || f.typed {
		at := line.Function.StartLine
		if at == 0 {
			at = line.Line
		}
		id = f.add(function{functionKey{line.Function.Name, f.typeOf(loc, line.Function)}, line.Function.File, at})
		f.byFunc[line.Function] = id
	}
	return id
}

// address returns the function of a location without symbols.
func (f *Functions) address(loc *store.Location) int32 {
	return f.add(function{functionKey: functionKey{addressName(loc), f.typeOf(loc, nil)}})
}

func (f *Functions) add(fn function) int32 {
	if fn.name == "" {
		fn.name = "(unnamed)"
	}
	id, ok := f.byName[fn.functionKey]
	if !ok {
		id = int32(len(f.list))
		f.list = append(f.list, fn)
		f.byName[fn.functionKey] = id
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
