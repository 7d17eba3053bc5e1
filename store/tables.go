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
	stacks    table[Stack, *Stack]
	labels    table[labelSet, *labelSet]
}

func newTables() tables {
	seed := maphash.MakeSeed()
	return tables{
		texts:     texts{nodes: make(map[string]*text)},
		mappings:  newTable[Mapping](seed),
		functions: newTable[Function](seed),
		locations: newTable[Location](seed),
		stacks:    newTable[Stack](seed),
		labels:    newTable[labelSet](seed),
	}
}

func (t *tables) bytes() int64 {
	return t.texts.bytes + t.mappings.bytes + t.functions.bytes + t.locations.bytes + t.stacks.bytes + t.labels.bytes
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

// stack does not keep locations.
func (t *tables) stack(locations []*Location) *Stack {
	own, fresh := t.stacks.intern(&Stack{Locations: locations})
	if fresh {
		own.Locations = slices.Clone(locations)
		for _, l := range own.Locations {
			t.locations.retain(l)
		}
	}
	return own
}

func (t *tables) releaseStack(s *Stack) {
	if !t.stacks.release(s) {
		return
	}
	for _, l := range s.Locations {
		t.releaseLocation(l)
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

// releaseWindow gives back what build took from the tables.
func (t *tables) releaseWindow(w *window) {
	for _, s := range w.stacks {
		t.releaseStack(s)
	}
	for i := range w.groups {
		t.releaseLabelSet(w.groups[i].labels)
	}
	for _, m := range w.mappings {
		t.releaseMapping(m)
	}
	for _, v := range w.types {
		t.releaseValueType(v)
	}
	t.releaseValueType(w.periodType)
	t.texts.release(w.defaultType)
	t.texts.release(w.service)
	t.texts.release(w.version)
}

func (t *tables) releaseValueType(v valueType) {
	t.texts.release(v.name)
	t.texts.release(v.unit)
}
