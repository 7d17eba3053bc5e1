// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/frames"
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
	// id is the place of a store's location in its list.
	id uint32
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

// code reads the stacks that the tables had when it was made, without a lock.
type code struct {
	frames    frames.Reader
	locations []*Location
}

// each shows the locations of a stack, from the leaf to the root.
func (c *code) each(leaf frames.ID, visit func(*Location)) {
	for leaf != 0 {
		parent, location := c.frames.At(leaf)
		visit(c.locations[location])
		leaf = parent
	}
}

// stack returns the locations from a leaf up to the root.
func (c *code) stack(leaf frames.ID) *Stack {
	depth := 0
	for f := leaf; f != 0; f, _ = c.frames.At(f) {
		depth++
	}
	s := &Stack{Locations: make([]*Location, 0, depth)}
	c.each(leaf, func(l *Location) { s.Locations = append(s.Locations, l) })
	return s
}

// locationList finds the locations of a table by number. What a reader has of it never
// changes.
type locationList struct {
	list   []*Location
	free   []uint32
	shared bool
}

func (l *locationList) add(of *Location) {
	last := len(l.free) - 1
	if last < 0 {
		of.id = uint32(len(l.list))
		l.list = append(l.list, of)
		return
	}
	of.id = l.free[last]
	l.free = l.free[:last]
	l.set(of.id, of)
}

func (l *locationList) remove(of *Location) {
	l.set(of.id, nil)
	if l.free = append(l.free, of.id); len(l.free) == len(l.list) {
		*l = locationList{}
	}
}

func (l *locationList) set(i uint32, of *Location) {
	if l.shared {
		l.list, l.shared = slices.Clone(l.list), false
	}
	l.list[i] = of
}

func (l *locationList) bytes() int64 { return memory.Slice(l.list) + memory.Slice(l.free) }

// tables hold what windows have in common: the code of the program, the label sets
// and the names. They hold nothing that no window refers to.
type tables struct {
	texts     intern.Texts
	mappings  *intern.Table[Mapping]
	functions *intern.Table[Function]
	locations *intern.Table[Location]
	places    locationList
	frames    *frames.Table
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
			t.places.add(l)
			if l.Mapping != nil {
				t.mappings.Retain(l.Mapping)
			}
			for _, line := range l.Lines {
				t.functions.Retain(line.Function)
			}
		},
		Drop: func(l *Location) {
			t.places.remove(l)
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
	t.frames = frames.New()
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
	return t.texts.Bytes() + t.mappings.Bytes() + t.functions.Bytes() + t.locations.Bytes() + t.places.bytes() + t.frames.Bytes() + t.samples.Bytes() + t.names.Bytes()
}

// keptBytes is the memory of what parts that are kept have in the tables alone.
func (t *tables) keptBytes() int64 {
	return t.texts.KeptBytes() + t.mappings.KeptBytes() + t.functions.KeptBytes() + t.locations.KeptBytes() + t.frames.KeptBytes() + t.samples.KeptBytes()
}

// code returns a reader of the stacks that the tables have now.
func (t *tables) code() code {
	t.places.shared = true
	return code{t.frames.Reader(), t.places.list}
}

// frame returns the id of a frame. One that is new takes references to what it refers to,
// but has none: the caller retains it.
func (t *tables) frame(parent frames.ID, l *Location) frames.ID {
	id, isNew := t.frames.Intern(parent, l.id)
	if isNew {
		t.changeStack(parent, 1, 0)
		t.locations.Retain(l)
	}
	return id
}

// changeStack adds to the references to a leaf, and to those of keepers, and lets what
// its frames refer to follow, towards the root, until a frame stays as it was.
func (t *tables) changeStack(leaf frames.ID, refs, kept int32) {
	for id := leaf; id != 0; {
		parent, place := t.frames.At(id)
		location := t.places.list[place]
		switch t.frames.Change(id, refs, kept) {
		case intern.Same:
			return
		case intern.Gone:
			refs, kept = -1, 0
			t.locations.Release(location)
		case intern.GoneKept:
			refs, kept = 0, -1
			t.locations.ReleaseKept(location)
		case intern.OnlyKept:
			refs, kept = -1, 1
			t.locations.Shift(location, true)
		case intern.Live:
			refs, kept = 1, -1
			t.locations.Shift(location, false)
		}
		id = parent
	}
}
