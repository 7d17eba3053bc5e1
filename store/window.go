// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/exporter"
)

// window is a profile that was taken in. It is immutable, so that queries read
// it without a lock.
type window struct {
	kind        exporter.Kind
	service     string
	version     string
	start, end  time.Time
	types       []valueType
	defaultType string
	periodType  valueType
	period      int64
	// mappings are those of the profile in its order: the first one is the
	// main program to pprof's tools.
	mappings []*Mapping
	groups   []group
	// stacks are the samples' stacks, in the order of the groups. values
	// holds len(types) values for each.
	stacks []*Stack
	values []int64

	// cpuColumn is the column that tells the CPU time in units of cpuScale,
	// countColumn the one that counts samples. Both are -1 where there is
	// none.
	cpuColumn, countColumn int
	cpuScale               time.Duration

	// samples is the number of samples taken.
	samples int64
	// bytes is the memory of all this, without what the tables hold.
	bytes int64
}

// cpu returns the CPU time of all samples of w, and of those that carry an id
// or a span name.
func (w *window) cpu() (total, labelled time.Duration) {
	for i := range w.groups {
		g := &w.groups[i]
		cpu, _ := g.cpu()
		total += cpu
		if g.profileID != "" || g.spanID != "" || g.labels.get(spanNameLabel) != "" {
			labelled += cpu
		}
	}
	return total, labelled
}

func (w *window) value(sample, column int) int64 { return w.values[sample*len(w.types)+column] }

// count returns how many samples the i-th one stands for.
func (w *window) count(i int) int64 {
	if w.countColumn < 0 {
		return 1
	}
	return w.value(i, w.countColumn)
}

// column returns the index of a value type, -1 if the window lacks it.
func (w *window) column(t valueType) int { return slices.Index(w.types, t) }

// overlaps says whether the window has a part in [from, until). A snapshot,
// which has no length, counts as a moment.
func (w *window) overlaps(from, until time.Time) bool {
	if !until.IsZero() && !w.start.Before(until) {
		return false
	}
	return from.IsZero() || w.end.After(from) || w.start.Equal(w.end) && w.start.Equal(from)
}

// setColumns finds the columns that tell CPU time and sample counts. The Go
// runtime writes both; an eBPF agent counts samples and tells their period.
func (w *window) setColumns() {
	w.cpuColumn = slices.IndexFunc(w.types, func(t valueType) bool { return t.name == "cpu" })
	w.countColumn = slices.IndexFunc(w.types, func(t valueType) bool { return t.name == "samples" })
	switch {
	case w.cpuColumn >= 0:
		w.cpuScale = timeUnit(w.types[w.cpuColumn].unit)
	case w.countColumn >= 0:
		w.cpuColumn = w.countColumn
		w.cpuScale = time.Duration(w.period) * timeUnit(w.periodType.unit)
	}
}

func (w *window) event(t EventType) Event {
	return Event{Type: t, Kind: w.kind, Service: w.service, Samples: w.samples, Bytes: w.bytes}
}

// size returns the memory of the window without its ids.
func (w *window) size() int64 {
	return allocSize(int64(unsafe.Sizeof(*w))) +
		allocSize(int64(len(w.types))*int64(unsafe.Sizeof(valueType{}))) +
		allocSize(int64(len(w.mappings))*pointerSize) +
		allocSize(int64(len(w.groups))*int64(unsafe.Sizeof(group{}))) +
		allocSize(int64(len(w.stacks))*pointerSize) +
		allocSize(int64(len(w.values))*8)
}
