// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package samples keeps the samples of one profile, a window, in few bytes. Samples
// with the same labels form a group; equal values and equal label sets are kept
// once. The package knows no stacks: a sample is a number, by which the store finds
// its stack.
//
// build.go makes a window of a profile, window.go reads it, part.go cuts it. group.go and
// labels.go have what samples have in common, times.go when they were taken. ended.go
// has those of goroutines that outlived their span. exemplar.go collects the ids that
// may name work without a span.
package samples

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Window is the samples of one profile. It does not change after it was built,
// except for SetLoose, so that queries read it without a lock.
type Window struct {
	Kind exporter.Kind
	// Service and Version are those of the profile's resource.
	Service, Version string
	Start, End       time.Time
	Types            []ValueType
	DefaultType      string
	PeriodType       ValueType
	Period           int64
	// Looks are those that a wall profile knows of, or nil.
	Looks *looks.Looks
	// Kept says that this is a part that is kept of windows that are gone.
	Kept bool
	// Count is the number of samples taken.
	Count int64

	// groups are sorted by their span, those without one first. texts finds
	// those with textIDs, sorted by id; loose are the groups whose profile_id
	// names no known span.
	groups []groupRow
	texts  []textID
	loose  []uint32
	// ended are the groups taken after the end of a span, in order.
	ended []endedGroup
	// labelled is where in labellings each group has its own. surplus is how
	// many more samples than groups come before a group, which is less than
	// the place of its first one.
	labelled   memory.Column
	labellings []labelling
	surplus    memory.Column
	// rows are the places of the samples' values, in the order of the groups:
	// values has len(Types) for each, and few different ones in a CPU profile.
	rows   memory.Column
	values []int64
	// sums has len(Types) for each labelling: the sums of its samples. A part
	// that is kept has none, as only queries for an id look at it.
	sums []int64
	// times are in the order of the samples.
	times packedTimes

	// cpuColumn is the column that tells the CPU time in units of cpuScale,
	// countColumn the one that counts samples. Both are -1 where there is
	// none.
	cpuColumn, countColumn int
	cpuScale               time.Duration
}

// ValueType is what a value measures, and in what unit.
type ValueType struct {
	Name, Unit string
}

// Momentary says that a value describes the end of its window, so that those of
// several windows must not be added: live memory, in heap profiles, and the number of
// goroutines.
func (t ValueType) Momentary() bool {
	return strings.HasPrefix(t.Name, "inuse_") || t.Name == "goroutine"
}

// duration returns 0 for a unit that is not one of time.
func (t ValueType) duration() time.Duration {
	switch t.Unit {
	case "nanoseconds":
		return time.Nanosecond
	case "microseconds":
		return time.Microsecond
	case "milliseconds":
		return time.Millisecond
	case "seconds":
		return time.Second
	default:
		return 0
	}
}

// Groups returns the number of groups.
func (w *Window) Groups() int { return len(w.groups) }

// CPU returns the CPU time of all samples of w, and of those that carry an id
// or a span name.
func (w *Window) CPU() (total, labelled time.Duration) {
	for i := range w.groups {
		g := Group{w, i}
		cpu, _ := g.CPU()
		total += cpu
		if g.named() || g.Labels().SpanName() != "" {
			labelled += cpu
		}
	}
	return total, labelled
}

// Value returns a value of a sample.
func (w *Window) Value(sample, column int) int64 {
	return w.values[w.rows.At(sample)*len(w.Types)+column]
}

// CountOf returns how many samples were taken of those that are kept as one.
func (w *Window) CountOf(sample int) int64 {
	if w.countColumn < 0 {
		return 1
	}
	return w.Value(sample, w.countColumn)
}

// CPUOf returns the CPU time of a sample and how many samples were taken of it.
func (w *Window) CPUOf(sample int) (cpu time.Duration, samples int64) {
	if w.cpuColumn >= 0 {
		cpu = time.Duration(w.Value(sample, w.cpuColumn)) * w.cpuScale
	}
	return cpu, w.CountOf(sample)
}

// Column returns the index of a value type, -1 if the window lacks it.
func (w *Window) Column(t ValueType) int { return slices.Index(w.Types, t) }

// Find appends the groups that have an id, which is text or, if that is the id of a
// span, key.
func (w *Window) Find(groups []Group, text string, key ident.Key) []Group {
	if key != 0 {
		i, _ := slices.BinarySearchFunc(w.groups, key, func(r groupRow, key ident.Key) int { return cmp.Compare(r.span, key) })
		for ; i < len(w.groups) && w.groups[i].span == key; i++ {
			groups = append(groups, Group{w, i})
		}
	}
	i, _ := slices.BinarySearchFunc(w.texts, text, func(t textID, text string) int { return strings.Compare(t.id, text) })
	for ; i < len(w.texts) && w.texts[i].id == text; i++ {
		groups = append(groups, Group{w, int(w.texts[i].group)})
	}
	return groups
}

// Labellings returns the number of labellings: labels, with the way in which they
// name a span, that groups have in common.
func (w *Window) Labellings() int { return len(w.labellings) }

// LabelsOf returns the labels of a labelling except the ids.
func (w *Window) LabelsOf(labelling int) *LabelSet { return w.labellings[labelling].set }

// Sum returns the sum of a column for a labelling. A part that is kept does not know
// it.
func (w *Window) Sum(labelling, column int) int64 { return w.sums[labelling*len(w.Types)+column] }

// Overlaps reports whether the window has a part in [from, until). A snapshot,
// which has no length, counts as a moment.
func (w *Window) Overlaps(from, until time.Time) bool {
	if !until.IsZero() && !w.Start.Before(until) {
		return false
	}
	return from.IsZero() || w.End.After(from) || w.Start.Equal(w.End) && w.Start.Equal(from)
}

// setColumns finds the columns that tell CPU time and sample counts. The Go
// runtime writes both; an eBPF agent counts samples and tells their period.
func (w *Window) setColumns() {
	w.cpuColumn = slices.IndexFunc(w.Types, func(t ValueType) bool { return t.Name == "cpu" })
	w.countColumn = slices.IndexFunc(w.Types, func(t ValueType) bool { return t.Name == "samples" })
	switch {
	case w.cpuColumn >= 0:
		w.cpuScale = w.Types[w.cpuColumn].duration()
	case w.countColumn >= 0:
		w.cpuColumn = w.countColumn
		w.cpuScale = time.Duration(w.Period) * w.PeriodType.duration()
	}
}

// SetLoose says which groups have a profile_id that names no known span, in order.
func (w *Window) SetLoose(groups []uint32) { w.loose = groups }

// Loose reports whether the profile_id of a group names no known span.
func (w *Window) Loose(group int) bool {
	_, loose := slices.BinarySearch(w.loose, uint32(group))
	return loose
}

// eachText shows the texts of the window that windows share.
func (w *Window) eachText(visit func(string)) {
	visit(w.Service)
	visit(w.Version)
	visit(w.DefaultType)
	for _, t := range append(slices.Clip(w.Types), w.PeriodType) {
		visit(t.Name)
		visit(t.Unit)
	}
}

// finish fills in what follows from the samples.
func (w *Window) finish() {
	for i := range w.groups {
		g := Group{w, i}
		w.Count += g.Count()
		l := g.labelling()
		if l.form != textIDs {
			continue
		}
		for _, id := range slices.Compact([]string{l.texts.Profile, l.texts.Span}) {
			if id != "" {
				w.texts = append(w.texts, textID{id: id, group: uint32(i)})
			}
		}
	}
	slices.SortStableFunc(w.texts, func(a, b textID) int { return strings.Compare(a.id, b.id) })
}

// Size returns the memory of what the window points to, without what it shares with
// others.
func (w *Window) Size() int64 {
	size := memory.Slice(w.Types) + memory.Slice(w.groups) + memory.Slice(w.texts) + memory.Slice(w.loose) + memory.Slice(w.ended) + w.times.size() +
		w.labelled.Size() + memory.Slice(w.labellings) + w.surplus.Size() +
		w.rows.Size() + memory.Slice(w.values) + memory.Slice(w.sums)
	if w.Looks != nil {
		size += memory.Alloc(int64(unsafe.Sizeof(*w.Looks))) + memory.Slice(w.Looks.Gaps) + memory.Slice(w.Looks.Long)
	}
	for _, l := range w.labellings {
		if l.texts != nil {
			size += l.texts.size()
		}
	}
	return size
}
