// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// window is the rows of one profile. It never changes.
type window struct {
	kind exporter.Kind
	// service and version are the owner's, unless the profile had no resource. Then
	// process has them once a span has ended.
	service, version string
	process          *owner
	start, end       int64 // in nanoseconds since 1970
	types            []ValueType
	standard         string // the default type, "" for none
	periodType       ValueType
	period           int64
	looks            *looks.Looks
	kernel           bool
	mappings         []uint32

	// The rows are in the order of their groups. values is the place of each in tuples,
	// which has len(types) numbers per place.
	groups, stacks, values memory.Column
	tuples                 []int64
	// samples is the number of samples, cpu their CPU time. labelled is the part of it with
	// an id or a span name.
	samples, cpu, labelled int64
	size                   int64

	cpuColumn, countColumn int // -1 if absent
	cpuScale               int64
}

// name returns the service of a window, version its version.
func (w *window) name() string    { return w.resource()[0] }
func (w *window) release() string { return w.resource()[1] }

func (w *window) resource() [2]string {
	if w.process != nil {
		if of := w.process.known.Load(); of != nil {
			return *of
		}
	}
	return [2]string{w.service, w.version}
}

// unlabelled reports whether the runtime puts no labels on such profiles.
func (w *window) unlabelled() bool {
	return w.kind == exporter.KindHeap || w.kind == exporter.KindMutex || w.kind == exporter.KindBlock
}

func (w *window) len() int { return w.groups.Len() }

func (w *window) value(row, column int) int64 {
	return w.tuples[w.values.At(row)*len(w.types)+column]
}

// count returns the number of samples of a row.
func (w *window) count(row int) int64 {
	if w.countColumn < 0 {
		return 1
	}
	return w.value(row, w.countColumn)
}

// cpuOf returns the CPU time of a row in nanoseconds, 0 for another kind.
func (w *window) cpuOf(row int) int64 {
	if w.kind != exporter.KindCPU || w.cpuColumn < 0 {
		return 0
	}
	return w.value(row, w.cpuColumn) * w.cpuScale
}

// column returns the column of a type, -1 if absent.
func (w *window) column(name string) int {
	return slices.IndexFunc(w.types, func(t ValueType) bool { return t.Name == name })
}

func (w *window) overlaps(from, until int64) bool {
	return w.start < until && (w.end > from || w.end == w.start && w.end == from)
}

// newWindow returns a window without rows, and the factors of its values.
func (s *Segment) newWindow(p *exporter.Profile, parsed *profile.Profile) (w *window, factors []int64) {
	start := p.Start().Round(0)
	text := func(t string) string { return s.texts.list[s.texts.add(t)] }
	valueType := func(t *profile.ValueType) ValueType {
		if t == nil {
			return ValueType{}
		}
		return ValueType{text(t.Type), text(t.Unit)}
	}
	w = &window{
		kind: exporter.Kind(text(string(p.Kind()))), service: text(ident.Service(p.Resource())), version: text(ident.Version(p.Resource())),
		start: ident.UnixNano(start), end: ident.UnixNano(start.Add(max(p.Duration(), 0))),
		standard: text(parsed.DefaultSampleType), periodType: valueType(parsed.PeriodType),
	}
	if w.service == "" || w.service == noService() {
		w.process = s.owner
	}
	for _, t := range parsed.SampleType {
		scaled, factor := valueType(t).scaled()
		w.types, factors = append(w.types, scaled), append(factors, factor)
	}
	w.periodType, w.period = w.periodType.scaled()
	w.period = columns.Mul(parsed.Period, w.period)
	if w.kind == exporter.KindWall {
		w.looks = looks.Parse(parsed.Comments)
	}
	w.setColumns()
	return w, factors
}

// setColumns finds the columns that hold CPU time and the number of samples.
func (w *window) setColumns() {
	w.cpuColumn, w.countColumn = w.column("cpu"), w.column("samples")
	switch {
	case w.cpuColumn >= 0 && w.types[w.cpuColumn].Unit == "nanoseconds":
		w.cpuScale = 1
	case w.cpuColumn < 0 && w.countColumn >= 0 && w.periodType.Unit == "nanoseconds":
		w.cpuColumn, w.cpuScale = w.countColumn, w.period
	}
}

// rowOrder is a row before it has its place in a window.
type rowOrder struct {
	group, stack, value uint32
	at                  int // in the profile
}

func compareRows(a, b rowOrder) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.at, b.at))
}

// build adds the rows of a profile that CheckValid found valid. It stops and returns nil
// if the segment gets larger than limit.
func (s *Segment) build(p *exporter.Profile, parsed *profile.Profile, limit int64) *window {
	w, factors := s.newWindow(p, parsed)
	code := s.codeReader()
	for _, m := range parsed.Mapping {
		w.mappings = append(w.mappings, code.mapping(m))
		w.kernel = w.kernel || m.File == exporter.KernelMapping
	}
	rows := make([]rowOrder, len(parsed.Sample))
	var scratch []label
	t := newTuples()
	values := make([]int64, len(factors))
	for i, sm := range parsed.Sample {
		for k, factor := range factors {
			values[k] = columns.Mul(sm.Value[k], factor)
		}
		rows[i] = rowOrder{s.groupOf(sm, &scratch), code.stack(sm), t.add(values), i}
		if i%256 == 0 && s.bytes() > limit {
			return nil
		}
	}
	slices.SortFunc(rows, compareRows)
	s.finish(w, rows, t)
	return w
}

// finish puts sorted rows into a window, and sums them.
func (s *Segment) finish(w *window, rows []rowOrder, t *tuples) {
	column := func(of func(*rowOrder) uint32) memory.Column {
		values := make([]uint32, len(rows))
		for i := range rows {
			values[i] = of(&rows[i])
		}
		return memory.NewColumn(values)
	}
	w.groups = column(func(r *rowOrder) uint32 { return r.group })
	w.stacks = column(func(r *rowOrder) uint32 { return r.stack })
	w.values = column(func(r *rowOrder) uint32 { return r.value })
	w.tuples = slices.Clip(slices.Clone(t.list))
	for i := range rows {
		cpu := w.cpuOf(i)
		w.samples += w.count(i)
		w.cpu += cpu
		if s.isLabelled(rows[i].group) {
			w.labelled += cpu
		}
	}
	w.size = memory.Alloc(512) + memory.Slice(w.types) + memory.Slice(w.mappings) + w.groups.Size() + w.stacks.Size() + w.values.Size() + memory.Slice(w.tuples)
	if w.looks != nil {
		w.size += memory.Alloc(128) + memory.Slice(w.looks.Long)
	}
}

// tuples numbers the different values of the rows of a window: few in a CPU profile.
type tuples struct {
	list  []int64
	index map[string]uint32
	key   []byte
}

func newTuples() *tuples { return &tuples{index: make(map[string]uint32)} }

func (t *tuples) add(values []int64) uint32 {
	t.key = t.key[:0]
	for _, v := range values {
		t.key = binary.LittleEndian.AppendUint64(t.key, uint64(v))
	}
	i, ok := t.index[string(t.key)]
	if !ok {
		i = uint32(len(t.index))
		t.index[string(t.key)], t.list = i, append(t.list, values...)
	}
	return i
}
