// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"slices"

	"github.com/google/pprof/profile"
)

// tables hold what windows have in common: the code of the program and the
// label sets. What no window refers to any more is not in them.
type tables struct {
	texts     texts
	mappings  table[Mapping, *Mapping]
	functions table[Function, *Function]
	locations table[Location, *Location]
	frames    frames
	labels    table[labelSet, *labelSet]
	names     table[nameTexts, *nameTexts]
}

func newTables() tables {
	seed := maphash.MakeSeed()
	return tables{
		mappings:  newTable[Mapping](seed),
		functions: newTable[Function](seed),
		locations: newTable[Location](seed),
		labels:    newTable[labelSet](seed),
		names:     newTable[nameTexts](seed),
	}
}

func (t *tables) bytes() int64 {
	return t.texts.bytes() + t.mappings.bytes() + t.functions.bytes() + t.locations.bytes() + t.frames.bytes() + t.labels.bytes() + t.names.bytes()
}

// mapping, function, location and stack return the table's copy without a
// reference: the parent takes one when it enters its own table. A parent that
// is there already holds its parts, so no part is left without a reference.

func (t *tables) mapping(m *profile.Mapping) *Mapping {
	own, fresh := t.mappings.intern(&Mapping{
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
		own.File, own.BuildID = t.texts.retain(own.File), t.texts.retain(own.BuildID)
	}
	return own
}

func (t *tables) releaseMapping(m *Mapping) {
	if t.mappings.release(m) {
		t.texts.release(m.File)
		t.texts.release(m.BuildID)
	}
}

func (t *tables) function(f *profile.Function) *Function {
	own, fresh := t.functions.intern(&Function{
		Name:       f.Name,
		File:       f.Filename,
		StartLine:  f.StartLine,
		systemName: f.SystemName,
	})
	if fresh {
		own.Name, own.File = t.texts.retain(own.Name), t.texts.retain(own.File)
		own.systemName = t.texts.retain(own.systemName)
	}
	return own
}

func (t *tables) releaseFunction(f *Function) {
	if t.functions.release(f) {
		t.texts.release(f.Name)
		t.texts.release(f.File)
		t.texts.release(f.systemName)
	}
}

// location does not keep lines. m may be nil.
func (t *tables) location(l *profile.Location, m *Mapping, lines []Line) *Location {
	own, fresh := t.locations.intern(&Location{Address: l.Address, Mapping: m, Lines: lines, folded: l.IsFolded})
	if fresh {
		own.Lines = slices.Clone(lines)
		if own.Mapping != nil {
			t.mappings.retain(own.Mapping)
		}
		for _, line := range own.Lines {
			t.functions.retain(line.Function)
		}
	}
	return own
}

func (t *tables) releaseLocation(l *Location) {
	if !t.locations.release(l) {
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
		f, fresh := t.frames.intern(frameKey{parent: leaf, location: l})
		if fresh {
			t.retainStack(leaf)
			t.locations.retain(l)
		}
		leaf = f
	}
	return leaf
}

func (t *tables) retainStack(leaf *frame) {
	if leaf != nil {
		leaf.refs++
	}
}

// releaseStack gives a reference to a leaf back, and those of frames that this
// was the last of.
func (t *tables) releaseStack(leaf *frame) {
	for f := leaf; f != nil && t.frames.release(f); f = f.parent {
		t.releaseLocation(f.location)
	}
}

// labelSet does not keep labels.
func (t *tables) labelSet(labels []label) *labelSet {
	own, fresh := t.labels.intern(&labelSet{labels: labels})
	if fresh {
		own.labels = slices.Clone(labels)
		for i, l := range own.labels {
			own.labels[i].key = t.texts.retain(l.key)
			own.labels[i].value = t.texts.retain(l.value)
			own.labels[i].unit = t.texts.retain(l.unit)
		}
	}
	return own
}

func (t *tables) releaseLabelSet(s *labelSet) {
	if !t.labels.release(s) {
		return
	}
	for _, l := range s.labels {
		t.texts.release(l.key)
		t.texts.release(l.value)
		t.texts.release(l.unit)
	}
}

// windowNames returns counts as a window keeps them, with references.
func (t *tables) windowNames(counts []nameCount) []windowName {
	names := make([]windowName, len(counts))
	for i := range counts {
		own, fresh := t.names.intern(&counts[i].nameTexts)
		if fresh {
			own.service, own.value, own.label = t.texts.retain(own.service), t.texts.retain(own.value), t.texts.retain(own.label)
		}
		t.names.retain(own)
		names[i] = windowName{texts: own, nameNumbers: counts[i].nameNumbers}
	}
	return names
}

func (t *tables) releaseName(n *nameTexts) {
	if t.names.release(n) {
		t.texts.release(n.service)
		t.texts.release(n.value)
		t.texts.release(n.label)
	}
}

// retainParts takes a reference for w to all that it has in the tables.
func (t *tables) retainParts(w *window) {
	for _, leaf := range w.frames {
		t.retainStack(leaf)
	}
	for _, l := range w.labellings {
		t.labels.retain(l.set)
	}
	for _, m := range w.mappings {
		t.mappings.retain(m)
	}
	w.eachText(func(s string) { t.texts.retain(s) })
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
	w.eachText(t.texts.release)
}
