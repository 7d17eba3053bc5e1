// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
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
	// groups are sorted by their span, those without one first. texts finds
	// those with textIDs, sorted by id; loose are the groups of which no span
	// is known that profile_id names.
	groups []groupRow
	// labelled is where in labellings each group has its own. surplus is how
	// many more samples than groups come before a group, which is less than
	// the place of its first one.
	labelled   memory.Column
	labellings []labelling
	surplus    memory.Column
	texts      []textID
	loose      []uint32
	// frames are the leaves of the samples' stacks, in the order of the
	// groups. rows are the places of their values: values has len(types) for
	// each, and few different ones in a CPU profile.
	frames []*frame
	rows   memory.Column
	values []int64
	// sums has len(types) for each labelling: the sums of its samples. What is
	// kept of a window has none, as only queries for an id look at it.
	sums []int64
	// names counts the spans that ended, and the CPU time that spans took,
	// between the arrival of the window before this one and its own.
	names []windowName

	// cpuColumn is the column that tells the CPU time in units of cpuScale,
	// countColumn the one that counts samples. Both are -1 where there is
	// none.
	cpuColumn, countColumn int
	cpuScale               time.Duration

	// kept says that this is the part that is kept of a window that is gone.
	kept bool

	// samples is the number of samples taken.
	samples int64
	// bytes is the memory of all this, without what the tables hold.
	bytes int64
}

// cpu returns the CPU time of all samples of w, and of those that carry an id
// or a span name.
func (w *window) cpu() (total, labelled time.Duration) {
	for i := range w.groups {
		g := group{w, i}
		cpu, _ := g.cpu()
		total += cpu
		if g.named() || g.labels().get(spanNameLabel) != "" {
			labelled += cpu
		}
	}
	return total, labelled
}

func (w *window) value(sample, column int) int64 {
	return w.values[w.rows.At(sample)*len(w.types)+column]
}

// appendGroups appends the groups that have an id, which is text or, if that is
// the id of a span, key.
func (w *window) appendGroups(groups []group, text string, key ident.Key) []group {
	if key != 0 {
		i, _ := slices.BinarySearchFunc(w.groups, key, func(r groupRow, key ident.Key) int { return cmp.Compare(r.span, key) })
		for ; i < len(w.groups) && w.groups[i].span == key; i++ {
			groups = append(groups, group{w, i})
		}
	}
	i, _ := slices.BinarySearchFunc(w.texts, text, func(t textID, text string) int { return strings.Compare(t.id, text) })
	for ; i < len(w.texts) && w.texts[i].id == text; i++ {
		groups = append(groups, group{w, int(w.texts[i].group)})
	}
	return groups
}

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

// wall says whether the window has wall-clock time.
func (w *window) wall() bool { return w.kind == exporter.KindWall }

// unlabelled says whether the runtime puts no labels on the samples, which then are
// of no span.
func (w *window) unlabelled() bool {
	return w.kind == exporter.KindHeap || w.kind == exporter.KindMutex || w.kind == exporter.KindBlock
}

// isLoose says whether no span was known that the profile_id of a group names.
func (w *window) isLoose(index int) bool {
	_, loose := slices.BinarySearch(w.loose, uint32(index))
	return loose
}

func (w *window) event(t EventType) Event {
	return Event{Type: t, Kind: w.kind, Service: w.service, Samples: w.samples, Bytes: w.bytes}
}

// eachText shows the texts of a window that are in the tables.
func (w *window) eachText(visit func(string)) {
	visit(w.service)
	visit(w.version)
	visit(w.defaultType)
	for _, t := range append(slices.Clip(w.types), w.periodType) {
		visit(t.name)
		visit(t.unit)
	}
}

// part returns a window of some groups of w, which are in the order of w.
func (w *window) part(groups []int) *window {
	part := &window{
		kind: w.kind, service: w.service, version: w.version, start: w.start, end: w.end,
		types: w.types, defaultType: w.defaultType, periodType: w.periodType, period: w.period,
		mappings:  w.mappings,
		cpuColumn: w.cpuColumn, countColumn: w.countColumn, cpuScale: w.cpuScale,
		kept: true,
	}
	labellings := make(map[int]uint32)
	places := make(map[int]uint32)
	var labelled, surplus, rows []uint32
	for _, index := range groups {
		g := group{w, index}
		from := w.labelled.At(index)
		place, ok := labellings[from]
		if !ok {
			place = uint32(len(part.labellings))
			labellings[from] = place
			part.labellings = append(part.labellings, *g.labelling())
		}
		labelled = append(labelled, place)
		surplus = append(surplus, uint32(len(part.frames)-len(part.groups)))
		first, last := g.bounds()
		for i := first; i < last; i++ {
			from := w.rows.At(i)
			place, ok := places[from]
			if !ok {
				place = uint32(len(places))
				places[from] = place
				part.values = append(part.values, w.values[from*len(w.types):][:len(w.types)]...)
			}
			rows = append(rows, place)
			part.frames = append(part.frames, w.frames[i])
		}
		if w.isLoose(index) {
			part.loose = append(part.loose, uint32(len(part.groups)))
		}
		part.groups = append(part.groups, *g.row())
	}
	part.labelled, part.surplus, part.rows = memory.NewColumn(labelled), memory.NewColumn(surplus), memory.NewColumn(rows)
	part.finish()
	return part
}

func (w *window) sumLabellings() []int64 {
	n := len(w.types)
	sums := make([]int64, n*len(w.labellings))
	for i := range w.groups {
		of := sums[w.labelled.At(i)*n:][:n]
		first, last := (group{w, i}).bounds()
		for s := first; s < last; s++ {
			for column := range of {
				of[column] += w.value(s, column)
			}
		}
	}
	return sums
}

// finish fills in what follows from the samples.
func (w *window) finish() {
	for i := range w.groups {
		g := group{w, i}
		w.samples += g.count()
		l := g.labelling()
		if l.form != textIDs {
			continue
		}
		for _, id := range slices.Compact([]string{l.texts.profileID, l.texts.spanID}) {
			if id != "" {
				w.texts = append(w.texts, textID{id: id, group: uint32(i)})
			}
		}
	}
	slices.SortStableFunc(w.texts, func(a, b textID) int { return strings.Compare(a.id, b.id) })
	w.bytes = w.size()
}

// size returns the memory of the window, without what the tables hold.
func (w *window) size() int64 {
	size := memory.Alloc(int64(unsafe.Sizeof(*w))) +
		memory.Slice(w.types) + memory.Slice(w.mappings) + memory.Slice(w.groups) + w.labelled.Size() + w.surplus.Size() + memory.Slice(w.labellings) +
		memory.Slice(w.texts) + memory.Slice(w.loose) + memory.Slice(w.frames) + w.rows.Size() + memory.Slice(w.values) +
		memory.Slice(w.sums) + memory.Slice(w.names)
	for _, l := range w.labellings {
		if l.texts != nil {
			size += l.texts.size()
		}
	}
	return size
}
