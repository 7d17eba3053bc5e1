// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Functions numbers functions, so that stacks are summed without hashing a name for
// every frame. It is not safe for concurrent use.
type Functions struct {
	typed      bool // frames have a FrameType
	list       []function
	byName     map[functionKey]int32
	lines      []lineKey // by the lines of frames
	byLine     map[lineKey]int32
	byLocation map[*profile.Location][]frame
}

// function is what a frame of a flame graph shows. Functions are merged by name: a function
// that is inlined in one place and called in another is one. The kernel's memset and C's are
// two.
type function struct {
	functionKey
	file string
	line int64
}

type functionKey struct {
	name string
	typ  FrameType
}

// pkg returns the package of a function: what its name has up to the first dot after the
// last slash. The name of an assembly function that only assembly calls, such as
// indexbytebody, has none: then it is the directory of the file, "" if unknown.
func (f *function) pkg() string {
	name := f.name
	if cut := strings.IndexAny(name, "[({ "); cut >= 0 {
		name = name[:cut] // Type parameters may hold slashes of their own.
	}
	slash := strings.LastIndexByte(name, '/')
	if dot := strings.IndexByte(name[slash+1:], '.'); dot >= 0 {
		return name[:slash+1+dot]
	}
	if path.Ext(f.file) != ".s" {
		return ""
	}
	dir := path.Dir(strings.ReplaceAll(f.file, `\`, "/"))
	for _, root := range []string{"/src/", "/pkg/mod/"} {
		if i := strings.LastIndex(dir, root); i >= 0 {
			return dir[i+len(root):]
		}
	}
	if dir == "." {
		return ""
	}
	return dir
}

// lineKey is a line of a function.
type lineKey struct {
	function int32
	line     int64
}

// frame is a function on a stack.
type frame struct {
	// function is its index in Functions.list.
	function int32
	// line is the index of its line in Functions.lines, -1 if unknown.
	line int32
	// inlined is set if the function was compiled into its caller.
	inlined bool
}

// NewFunctions returns an empty table. typed is set if frames have a type, as in the profiles
// of an eBPF agent.
func NewFunctions(typed bool) *Functions {
	return &Functions{typed: typed, byName: map[functionKey]int32{}, byLine: map[lineKey]int32{}, byLocation: map[*profile.Location][]frame{}}
}

// frames appends the frames of a stack to buf, from the root to the leaf.
func (f *Functions) frames(buf []frame, stack []*profile.Location) []frame {
	for _, loc := range slices.Backward(stack) {
		frames, ok := f.byLocation[loc]
		if !ok {
			frames = f.location(loc)
			f.byLocation[loc] = frames
		}
		buf = append(buf, frames...)
	}
	return buf
}

// preempted is the prefix of the runtime's functions that a signal inserts into a stack. Their
// time belongs to the function that was interrupted.
const preempted = "runtime.asyncPreempt"

// location returns the frames of a location, the caller first.
func (f *Functions) location(loc *profile.Location) []frame {
	if len(loc.Line) == 0 {
		return []frame{{function: f.address(loc), line: -1}}
	}
	frames := make([]frame, 0, len(loc.Line))
	for i, line := range slices.Backward(loc.Line) {
		if line.Function != nil && strings.HasPrefix(line.Function.Name, preempted) {
			continue
		}
		fn := f.function(loc, line)
		frames = append(frames, frame{function: fn, line: f.line(fn, line.Line), inlined: i < len(loc.Line)-1})
	}
	return frames
}

func (f *Functions) line(function int32, line int64) int32 {
	if line == 0 {
		return -1
	}
	key := lineKey{function, line}
	id, ok := f.byLine[key]
	if !ok {
		id = int32(len(f.lines))
		f.lines = append(f.lines, key)
		f.byLine[key] = id
	}
	return id
}

func (f *Functions) function(loc *profile.Location, line profile.Line) int32 {
	if line.Function == nil {
		return f.address(loc)
	}
	at := cmp.Or(line.Function.StartLine, line.Line)
	return f.add(function{functionKey{line.Function.Name, f.typeOf(loc, line.Function)}, line.Function.Filename, at})
}

// address returns the function of a location without symbols.
func (f *Functions) address(loc *profile.Location) int32 {
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
func addressName(loc *profile.Location) string {
	name := fmt.Sprintf("%#x", loc.Address)
	if loc.Mapping != nil && loc.Mapping.File != "" {
		name = path.Base(loc.Mapping.File) + " " + name
	}
	return name
}
