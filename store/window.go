// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/frames"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// window is a profile that was taken in. It is immutable, so that queries read
// it without a lock.
type window struct {
	samples.Window
	// leaves are those of the samples' stacks, as ids of frames.
	leaves memory.Column
	// mappings are those of the profile in its order: the first one is the
	// main program to pprof's tools.
	mappings []*Mapping
	// names counts the spans that ended, and the CPU time that spans took,
	// between the arrival of the window before this one and its own.
	names []windowName
	// owner is the span that a part is kept for.
	owner ident.Key
	// process is the earlier one that the window is of, nil for this one. age is 0 for
	// this one, and greater for those that ended first.
	process *Process
	age     int
	// bytes is the memory of all this, without what the tables hold.
	bytes int64
}

// windowName is a count as a window keeps it.
type windowName struct {
	texts *spanlog.Texts
	spanlog.Numbers
}

func (w *windowName) count() spanlog.Count {
	return spanlog.Count{Texts: *w.texts, Numbers: w.Numbers}
}

// unlabelled reports whether the runtime puts no labels on the samples, which then
// are of no span.
func (w *window) unlabelled() bool {
	return w.Kind == exporter.KindHeap || w.Kind == exporter.KindMutex || w.Kind == exporter.KindBlock
}

func (w *window) event(t EventType) Event {
	return Event{Type: t, Kind: w.Kind, Service: w.Service, Samples: w.Count, Bytes: w.bytes}
}

// part returns a window of the groups of some windows, for the span that owns them to
// keep when the windows go.
func part(owner ident.Key, windows []*window, cuts []samples.Cut) *window {
	of, order := samples.Part(cuts...)
	p := &window{Window: of, owner: owner, process: windows[0].process, age: windows[0].age, mappings: windows[0].mappings}
	leaves := make([]uint32, len(order))
	for i, from := range order {
		leaves[i] = uint32(windows[from.Cut].leaves.At(from.Index))
	}
	p.leaves = memory.NewColumn(leaves)
	for _, w := range windows[1:] {
		for _, m := range w.mappings {
			if !slices.Contains(p.mappings, m) {
				p.mappings = append(slices.Clip(p.mappings), m)
			}
		}
	}
	p.bytes = p.size()
	return p
}

// size returns the memory of the window, without what the tables hold.
func (w *window) size() int64 {
	return memory.Alloc(int64(unsafe.Sizeof(*w))) + w.Size() + w.leaves.Size() + memory.Slice(w.mappings) + memory.Slice(w.names)
}

// setNames gives w counts, as windows keep them.
func (t *tables) setNames(w *window, counts []spanlog.Count) {
	w.names = make([]windowName, len(counts))
	for i := range counts {
		own := t.names.Intern(counts[i].Texts)
		t.names.Retain(own)
		w.names[i] = windowName{texts: own, Numbers: counts[i].Numbers}
	}
	w.bytes = w.size()
}

// retainKept takes a reference for w, a part that is kept, to all that it has in the
// tables.
func (t *tables) retainKept(w *window) {
	w.changeStacks(t, 0, 1)
	for _, m := range w.mappings {
		t.mappings.RetainKept(m)
	}
	t.samples.RetainKept(&w.Window)
}

// releaseKept gives back what a part that was kept has in the tables.
func (t *tables) releaseKept(w *window) {
	w.changeStacks(t, 0, -1)
	for _, m := range w.mappings {
		t.mappings.ReleaseKept(m)
	}
	t.samples.ReleaseKept(&w.Window)
}

// changeStacks adds to the references that the tables count for each stack of w.
func (w *window) changeStacks(t *tables, refs, kept int32) {
	for i := range w.leaves.Len() {
		t.changeStack(w.leaf(i), refs, kept)
	}
}

func (w *window) leaf(sample int) frames.ID { return frames.ID(w.leaves.At(sample)) }

// release gives back what w has in the tables.
func (t *tables) release(w *window) {
	w.changeStacks(t, -1, 0)
	for _, m := range w.mappings {
		t.mappings.Release(m)
	}
	for i := range w.names {
		t.names.Release(w.names[i].texts)
	}
	t.samples.Release(&w.Window)
}

// build returns the window of a profile that CheckValid found valid. It stops
// once the tables take more than limit bytes, and returns false: what it took
// from the tables is in the window all the same.
func (t *tables) build(p *exporter.Profile, parsed *profile.Profile, limit int64) (_ *window, ok bool) {
	c := codeReader{
		tables:    t,
		mappings:  make(map[*profile.Mapping]*Mapping),
		functions: make(map[*profile.Function]*Function),
		locations: make(map[*profile.Location]*Location),
	}
	w := &window{mappings: make([]*Mapping, len(parsed.Mapping))}
	for i, m := range parsed.Mapping {
		w.mappings[i] = c.mapping(m)
		t.mappings.Retain(w.mappings[i])
	}
	var places []uint32
	w.Window, places = t.samples.Build(p, parsed)
	leaves := make([]uint32, len(parsed.Sample))
	fits := true
	for i := 0; i < len(leaves) && fits; i++ {
		leaves[places[i]] = uint32(c.stack(parsed.Sample[i]))
		fits = t.bytes() <= limit
	}
	w.leaves = memory.NewColumn(leaves)
	if !fits {
		return w, false
	}
	w.bytes = w.size()
	return w, true
}

// codeReader finds the code of one profile in the tables. Its methods return the
// table's copy without a reference: the parent takes one when it enters its own
// table. A parent that is there already holds its parts, so no part is left without
// a reference.
type codeReader struct {
	tables    *tables
	mappings  map[*profile.Mapping]*Mapping
	functions map[*profile.Function]*Function
	locations map[*profile.Location]*Location

	lines []Line // of the location that is read
}

// stack returns the leaf of the sample's stack with a reference for the window, 0
// for a stack without locations.
func (c *codeReader) stack(s *profile.Sample) (leaf frames.ID) {
	for _, l := range slices.Backward(s.Location) {
		leaf = c.tables.frame(leaf, c.location(l))
	}
	c.tables.changeStack(leaf, 1, 0)
	return leaf
}

func (c *codeReader) location(l *profile.Location) *Location {
	own, ok := c.locations[l]
	if !ok {
		c.lines = c.lines[:0]
		for _, line := range l.Line {
			c.lines = append(c.lines, Line{Function: c.function(line.Function), Line: line.Line, column: line.Column})
		}
		own = c.tables.locations.Intern(Location{Address: l.Address, Mapping: c.mapping(l.Mapping), Lines: c.lines, folded: l.IsFolded})
		c.locations[l] = own
	}
	return own
}

func (c *codeReader) function(f *profile.Function) *Function {
	own, ok := c.functions[f]
	if !ok {
		// CheckValid does not see locations that only a sample knows: f may be nil.
		of := cmp.Or(f, &profile.Function{})
		own = c.tables.functions.Intern(Function{Name: of.Name, File: of.Filename, StartLine: of.StartLine, systemName: of.SystemName})
		c.functions[f] = own
	}
	return own
}

// mapping returns nil for nil.
func (c *codeReader) mapping(m *profile.Mapping) *Mapping {
	own, ok := c.mappings[m]
	if !ok && m != nil {
		own = c.tables.mappings.Intern(Mapping{
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
		c.mappings[m] = own
	}
	return own
}
