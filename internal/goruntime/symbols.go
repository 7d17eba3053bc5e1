// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// Frame is a place in the source.
type Frame struct {
	Function  string
	File      string
	Line      int64
	StartLine int64 // of Function
}

// Symbols finds the functions at the addresses of stacks. It caches them; the
// program's code bounds the cache. It is not safe for concurrent use.
type Symbols struct {
	seen map[uintptr]symbol
}

// symbol describes the code at an address.
type symbol struct {
	frames []Frame
	// entry is the entry of the function that has the code, 0 where it is not Go's.
	entry uintptr
	// inlined reports whether the last frame was inlined into the next address.
	inlined bool
}

// NewSymbols returns Symbols with nothing resolved yet.
func NewSymbols() *Symbols { return &Symbols{seen: make(map[uintptr]symbol)} }

// Split returns how many addresses at the leaf of a non-empty stack are one location of a
// profile. The runtime's stacks have an address for each function, also for inlined ones.
// runtime/pprof groups them in the same way.
func (s *Symbols) Split(stack []uintptr) int {
	last := s.at(stack[0])
	for n, pc := range stack[1:] {
		if !last.inlined || last.entry == 0 {
			return n + 1
		}
		next := s.at(pc)
		// Equal names would be a recursion.
		if next.entry != last.entry || next.frames[0].Function == last.frames[len(last.frames)-1].Function {
			return n + 1
		}
		last = next
	}
	return len(stack)
}

// Frames returns the functions of a location that Split found, the innermost of
// inlined ones first. There are none at an address outside of Go code.
func (s *Symbols) Frames(location []uintptr) []Frame {
	if len(location) == 1 {
		return s.at(location[0]).frames
	}
	frames := make([]Frame, 0, len(location))
	for _, pc := range location {
		frames = append(frames, s.at(pc).frames...)
	}
	return frames
}

func (s *Symbols) at(pc uintptr) symbol {
	found, ok := s.seen[pc]
	if !ok {
		found = symbolize(pc)
		s.seen[pc] = found
	}
	return found
}
