// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// Stack is a call stack. Equal locations of one store are the same pointer while
// the store holds them; they must not be changed.
type Stack struct {
	// Locations are ordered from the leaf to the root.
	Locations []*Location
}

// Location is an instruction address and the source lines it stands for.
type Location struct {
	Address uint64
	// Mapping is where the address is from; nil where that is not known.
	Mapping *Mapping
	// Lines has more than one element where functions were inlined: the
	// last is the caller into which the preceding ones were inlined. It is
	// empty where the address has no symbol.
	Lines []Line

	folded bool
}

// Line is a line of source code.
type Line struct {
	// Function is never nil.
	Function *Function
	Line     int64

	column int64
}

// Function is a function of the profiled program.
type Function struct {
	Name, File string
	StartLine  int64

	systemName string
}

// Mapping is an executable or a library of the profiled program.
type Mapping struct {
	File, BuildID string
	Start, Limit  uint64
	Offset        uint64

	hasFunctions, hasFilenames, hasLineNumbers, hasInlineFrames bool
}

// frame is the part of a call stack from the root down to one location. Stacks
// that begin alike share their frames, and nearly all do: a stack that differs
// from another one in its leaf takes one frame, not as many as it is deep.
type frame struct {
	// parent is nil at the root.
	parent   *frame
	location *Location
}

// stack returns the locations from f up to the root.
func (f *frame) stack() *Stack {
	depth := 0
	for g := f; g != nil; g = g.parent {
		depth++
	}
	s := &Stack{Locations: make([]*Location, 0, depth)}
	for g := f; g != nil; g = g.parent {
		s.Locations = append(s.Locations, g.location)
	}
	return s
}
