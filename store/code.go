// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/intern"
	"github.com/spanprof/spanprof/store/internal/memory"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

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

// tables hold what windows have in common: the code of the program, the label sets
// and the names. They hold nothing that no window refers to.
type tables struct {
	texts     intern.Texts
	mappings  *intern.Table[Mapping]
	functions *intern.Table[Function]
	locations *intern.Table[Location]
	frames    *intern.Table[frame]
	samples   *samples.Table
	names     *intern.Table[spanlog.Texts]
}

func newTables() *tables {
	t := &tables{texts: intern.NewTexts()}
	t.mappings = intern.NewComparable(
		func(m *Mapping) { t.texts.Keep(&m.File, &m.BuildID) },
		func(m *Mapping) { t.texts.Drop(m.File, m.BuildID) },
		func(m *Mapping, kept bool) { t.texts.Shift(kept, m.File, m.BuildID) })
	t.functions = intern.NewComparable(
		func(f *Function) { t.texts.Keep(&f.Name, &f.File, &f.systemName) },
		func(f *Function) { t.texts.Drop(f.Name, f.File, f.systemName) },
		func(f *Function, kept bool) { t.texts.Shift(kept, f.Name, f.File, f.systemName) })
	t.locations = intern.New(intern.Traits[Location]{
		Hash: hashLocation,
		Equal: func(a, b *Location) bool {
			return a.Address == b.Address && a.Mapping == b.Mapping && a.folded == b.folded && slices.Equal(a.Lines, b.Lines)
		},
		Size: func(l *Location) int64 { return memory.Alloc(int64(len(l.Lines)) * int64(unsafe.Sizeof(Line{}))) },
		Keep: func(l *Location) {
			l.Lines = slices.Clone(l.Lines)
			if l.Mapping != nil {
				t.mappings.Retain(l.Mapping)
			}
			for _, line := range l.Lines {
				t.functions.Retain(line.Function)
			}
		},
		Drop: func(l *Location) {
			if l.Mapping != nil {
				t.mappings.Release(l.Mapping)
			}
			for _, line := range l.Lines {
				t.functions.Release(line.Function)
			}
		},
		Shift: func(l *Location, kept bool) {
			if l.Mapping != nil {
				t.mappings.Shift(l.Mapping, kept)
			}
			for _, line := range l.Lines {
				t.functions.Shift(line.Function, kept)
			}
		},
	})
	// follow does the rest for frames: a stack may be too deep to recurse.
	t.frames = intern.NewComparable(func(f *frame) {
		t.retainStack(f.parent)
		t.locations.Retain(f.location)
	}, nil, nil)
	t.samples = samples.NewTable(t.texts)
	t.names = intern.NewComparable(
		func(n *spanlog.Texts) { t.texts.Keep(&n.Service, &n.Value, &n.Label) },
		func(n *spanlog.Texts) { t.texts.Drop(n.Service, n.Value, n.Label) }, nil)
	return t
}

func hashLocation(seed maphash.Seed, l *Location) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, l.Address)
	maphash.WriteComparable(&h, l.Mapping)
	for _, line := range l.Lines {
		maphash.WriteComparable(&h, line)
	}
	return h.Sum64()
}

func (t *tables) bytes() int64 {
	return t.texts.Bytes() + t.mappings.Bytes() + t.functions.Bytes() + t.locations.Bytes() + t.frames.Bytes() + t.samples.Bytes() + t.names.Bytes()
}

// keptBytes is the memory of what parts that are kept have in the tables alone.
func (t *tables) keptBytes() int64 {
	return t.texts.KeptBytes() + t.mappings.KeptBytes() + t.functions.KeptBytes() + t.locations.KeptBytes() + t.frames.KeptBytes() + t.samples.KeptBytes()
}

func (t *tables) retainStack(leaf *frame) {
	if leaf != nil {
		t.follow(leaf, t.frames.Retain(leaf))
	}
}

func (t *tables) releaseStack(leaf *frame) {
	if leaf != nil {
		t.follow(leaf, t.frames.Release(leaf))
	}
}

func (t *tables) retainKeptStack(leaf *frame) {
	if leaf != nil {
		t.follow(leaf, t.frames.RetainKept(leaf))
	}
}

func (t *tables) releaseKeptStack(leaf *frame) {
	if leaf != nil {
		t.follow(leaf, t.frames.ReleaseKept(leaf))
	}
}

// follow does to what a frame refers to what was done to the frame, and so on
// towards the root, until a frame stays as it was.
func (t *tables) follow(f *frame, change intern.Change) {
	for f != nil && change != intern.Same {
		location, parent := f.location, f.parent
		switch change {
		case intern.Gone:
			t.locations.Release(location)
		case intern.GoneKept:
			t.locations.ReleaseKept(location)
		default:
			t.locations.Shift(location, change == intern.OnlyKept)
		}
		if f = parent; f == nil {
			return
		}
		switch change {
		case intern.Gone:
			change = t.frames.Release(f)
		case intern.GoneKept:
			change = t.frames.ReleaseKept(f)
		default:
			change = t.frames.Shift(f, change == intern.OnlyKept)
		}
	}
}
