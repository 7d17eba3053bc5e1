// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "unsafe"

// frame is the part of a call stack from the root down to one location. Stacks
// that begin alike share their frames, and nearly all do: a stack that differs
// from another one in its leaf takes one frame, not as many as it is deep.
type frame struct {
	frameKey
	refs int
}

// frameKey is what tells frames apart.
type frameKey struct {
	// parent is nil at the root.
	parent   *frame
	location *Location
}

// frames keeps one copy of equal frames and counts the references to it.
type frames struct {
	nodes countedMap[frameKey, *frame]
}

func (t *frames) bytes() int64 {
	return int64(len(t.nodes.elements))*allocSize(int64(unsafe.Sizeof(frame{}))) + t.nodes.bytes()
}

// intern returns the one frame of a key and whether it is new. A new one has no
// references: the caller retains it, together with what it points to.
func (t *frames) intern(key frameKey) (_ *frame, fresh bool) {
	if f := t.nodes.get(key); f != nil {
		return f, false
	}
	f := &frame{frameKey: key}
	t.nodes.set(key, f)
	return f, true
}

// release gives a reference back and reports whether it was the last one, and
// the frame is gone.
func (t *frames) release(f *frame) bool {
	f.refs--
	if f.refs > 0 {
		return false
	}
	t.nodes.remove(f.frameKey)
	return true
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
