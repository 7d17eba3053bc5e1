// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/intern"
	"github.com/spanprof/spanprof/store/internal/memory"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// tables hold what windows have in common: the code of the program and the
// label sets. What no window refers to any more is not in them.
type tables struct {
	texts     intern.Texts
	mappings  *intern.Table[Mapping]
	functions *intern.Table[Function]
	locations *intern.Table[Location]
	frames    *intern.Table[frame]
	labels    *intern.Table[labelSet]
	names     *intern.Table[spanlog.Texts]
}

func newTables() tables {
	return tables{
		texts:     intern.NewTexts(),
		mappings:  intern.NewComparable[Mapping](),
		functions: intern.NewComparable[Function](),
		locations: intern.New(intern.Traits[Location]{
			Hash: hashLocation,
			Equal: func(a, b *Location) bool {
				return a.Address == b.Address && a.Mapping == b.Mapping && a.folded == b.folded && slices.Equal(a.Lines, b.Lines)
			},
			Size: func(l *Location) int64 { return memory.Alloc(int64(len(l.Lines)) * int64(unsafe.Sizeof(Line{}))) },
		}),
		frames: intern.NewComparable[frame](),
		labels: intern.New(intern.Traits[labelSet]{
			Hash:  hashLabels,
			Equal: func(a, b *labelSet) bool { return slices.Equal(a.labels, b.labels) },
			Size:  func(s *labelSet) int64 { return memory.Alloc(int64(len(s.labels)) * int64(unsafe.Sizeof(label{}))) },
		}),
		names: intern.NewComparable[spanlog.Texts](),
	}
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

func hashLabels(seed maphash.Seed, s *labelSet) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, l := range s.labels {
		maphash.WriteComparable(&h, l)
	}
	return h.Sum64()
}

func (t *tables) bytes() int64 {
	return t.texts.Bytes() + t.mappings.Bytes() + t.functions.Bytes() + t.locations.Bytes() + t.frames.Bytes() + t.labels.Bytes() + t.names.Bytes()
}

// mapping, function, location and stack return the table's copy without a
// reference: the parent takes one when it enters its own table. A parent that
// is there already holds its parts, so no part is left without a reference.

func (t *tables) mapping(m *profile.Mapping) *Mapping {
	own, fresh := t.mappings.Intern(Mapping{
		File:            m.File,
		BuildID:         m.BuildID,
		Start:           m.Start,
		Limit:           m.Limit,
		Offset:          m.Offset,
		hasFunctions:    m.HasFunctions,
		hasFilenames:    m.HasFilenames,
		hasLineNumbers:  m.HasLineNumbers,
		hasInlineFrames: m.HasInlineFrames,
	})
	if fresh {
		own.File, own.BuildID = t.texts.Retain(own.File), t.texts.Retain(own.BuildID)
	}
	return own
}

func (t *tables) releaseMapping(m *Mapping) {
	if t.mappings.Release(m) {
		t.texts.Release(m.File)
		t.texts.Release(m.BuildID)
	}
}

func (t *tables) function(f *profile.Function) *Function {
	own, fresh := t.functions.Intern(Function{
		Name:       f.Name,
		File:       f.Filename,
		StartLine:  f.StartLine,
		systemName: f.SystemName,
	})
	if fresh {
		own.Name, own.File = t.texts.Retain(own.Name), t.texts.Retain(own.File)
		own.systemName = t.texts.Retain(own.systemName)
	}
	return own
}

func (t *tables) releaseFunction(f *Function) {
	if t.functions.Release(f) {
		t.texts.Release(f.Name)
		t.texts.Release(f.File)
		t.texts.Release(f.systemName)
	}
}

// location does not keep lines. m may be nil.
func (t *tables) location(l *profile.Location, m *Mapping, lines []Line) *Location {
	own, fresh := t.locations.Intern(Location{Address: l.Address, Mapping: m, Lines: lines, folded: l.IsFolded})
	if fresh {
		own.Lines = slices.Clone(lines)
		if own.Mapping != nil {
			t.mappings.Retain(own.Mapping)
		}
		for _, line := range own.Lines {
			t.functions.Retain(line.Function)
		}
	}
	return own
}

func (t *tables) releaseLocation(l *Location) {
	if !t.locations.Release(l) {
		return
	}
	if l.Mapping != nil {
		t.releaseMapping(l.Mapping)
	}
	for _, line := range l.Lines {
		t.releaseFunction(line.Function)
	}
}

// stack returns the leaf of a stack, nil for a stack without locations.
func (t *tables) stack(locations []*Location) *frame {
	var leaf *frame
	for _, l := range slices.Backward(locations) {
		f, fresh := t.frames.Intern(frame{parent: leaf, location: l})
		if fresh {
			t.retainStack(leaf)
			t.locations.Retain(l)
		}
		leaf = f
	}
	return leaf
}

func (t *tables) retainStack(leaf *frame) {
	if leaf != nil {
		t.frames.Retain(leaf)
	}
}

// releaseStack gives a reference to a leaf back, and those of frames that this
// was the last of.
func (t *tables) releaseStack(leaf *frame) {
	for f := leaf; f != nil && t.frames.Release(f); f = f.parent {
		t.releaseLocation(f.location)
	}
}

// labelSet does not keep labels.
func (t *tables) labelSet(labels []label) *labelSet {
	own, fresh := t.labels.Intern(labelSet{labels: labels})
	if fresh {
		own.labels = slices.Clone(labels)
		for i, l := range own.labels {
			own.labels[i].key = t.texts.Retain(l.key)
			own.labels[i].value = t.texts.Retain(l.value)
			own.labels[i].unit = t.texts.Retain(l.unit)
		}
	}
	return own
}

func (t *tables) releaseLabelSet(s *labelSet) {
	if !t.labels.Release(s) {
		return
	}
	for _, l := range s.labels {
		t.texts.Release(l.key)
		t.texts.Release(l.value)
		t.texts.Release(l.unit)
	}
}

// windowNames returns counts as a window keeps them, with references.
func (t *tables) windowNames(counts []spanlog.Count) []windowName {
	names := make([]windowName, len(counts))
	for i := range counts {
		own, fresh := t.names.Intern(counts[i].Texts)
		if fresh {
			own.Service, own.Value, own.Label = t.texts.Retain(own.Service), t.texts.Retain(own.Value), t.texts.Retain(own.Label)
		}
		t.names.Retain(own)
		names[i] = windowName{texts: own, Numbers: counts[i].Numbers}
	}
	return names
}

func (t *tables) releaseName(n *spanlog.Texts) {
	if t.names.Release(n) {
		t.texts.Release(n.Service)
		t.texts.Release(n.Value)
		t.texts.Release(n.Label)
	}
}

// retainParts takes a reference for w to all that it has in the tables.
func (t *tables) retainParts(w *window) {
	for _, leaf := range w.frames {
		t.retainStack(leaf)
	}
	for _, l := range w.labellings {
		t.labels.Retain(l.set)
	}
	for _, m := range w.mappings {
		t.mappings.Retain(m)
	}
	w.eachText(func(s string) { t.texts.Retain(s) })
}

// releaseWindow gives back what a window has in the tables.
func (t *tables) releaseWindow(w *window) {
	for _, leaf := range w.frames {
		t.releaseStack(leaf)
	}
	for _, l := range w.labellings {
		t.releaseLabelSet(l.set)
	}
	for _, m := range w.mappings {
		t.releaseMapping(m)
	}
	for i := range w.names {
		t.releaseName(w.names[i].texts)
	}
	w.eachText(t.texts.Release)
}
