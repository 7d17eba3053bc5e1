// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/frames"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/pprofout"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// Encoder is implemented by the views of a source that can write what Profile returns
// without building it, such as a Store. That takes a fraction of the time and memory.
type Encoder interface {
	// Pprof returns the samples that q selects, to be written in the pprof format. They
	// and the errors are those of Profile.
	Pprof(q Query) (*Pprof, error)
}

var _ Encoder = (*view)(nil)

// Pprof is the samples that a query selects, summed by stack and labels.
type Pprof struct {
	// Start and Duration are the time that the profile says it is about. They may be
	// changed before Write.
	Start    time.Time
	Duration time.Duration

	view *view
	head pprofout.Header
	// mappings are those of the windows.
	mappings []*Mapping
	// labels has a group with the labels of each number.
	labels     []samples.Group
	withoutIDs bool

	// The samples. values has so many of each as there are sample types.
	stacks []labelledStack
	values []int64
}

// labelledStack is the leaf of a stack in the lower half, and the number of the sample's
// labels in the upper one.
type labelledStack uint64

// Samples returns the number of samples.
func (p *Pprof) Samples() int { return len(p.stacks) }

func (v *view) Pprof(q Query) (*Pprof, error) {
	f, err := v.find(q)
	if err != nil {
		return nil, err
	}
	head := header(&f, &q)
	p := &Pprof{
		Duration: time.Duration(head.DurationNanos),
		view:     v, withoutIDs: q.WithoutIDs,
		head: pprofout.Header{
			PeriodType:        pprofout.ValueType{Type: head.PeriodType.Type, Unit: head.PeriodType.Unit},
			Period:            head.Period,
			Comments:          head.Comments,
			DefaultSampleType: head.DefaultSampleType,
		},
	}
	p.Start, _ = f.bounds()
	for _, t := range f.types {
		p.head.SampleTypes = append(p.head.SampleTypes, pprofout.ValueType{Type: t.Name, Unit: t.Unit})
	}
	for _, w := range f.windows {
		for _, m := range w.mappings {
			if !slices.Contains(p.mappings, m) {
				p.mappings = append(p.mappings, m)
			}
		}
	}
	if err := p.collect(&f, q.MaxSamples); err != nil {
		return nil, fmt.Errorf("store: %s profile: %w", q.Kind, err)
	}
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	p.dropEmpty()
	return p, nil
}

// labelsKey is what the labels of a sample are told apart by.
type labelsKey struct {
	set *samples.LabelSet
	ids samples.Identity
}

// collect sums the samples of the matches.
func (p *Pprof) collect(f *found, maxSamples int) error {
	types := len(f.types)
	numbers := make(map[labelsKey]uint32)
	places := make(map[labelledStack]uint32)
	columns := make([]int, types)
	for i := range f.matches {
		m := &f.matches[i]
		w := m.window
		for j, t := range f.types {
			columns[j] = f.column(w, t)
		}
		for g := range m.Groups() {
			if p.view.ended() {
				return nil
			}
			key := labelsKey{set: g.Labels()}
			if !p.withoutIDs {
				key.ids = g.Identity()
			}
			number, ok := numbers[key]
			if !ok {
				number = uint32(len(p.labels))
				numbers[key] = number
				p.labels = append(p.labels, g)
			}
			first, last := g.Bounds()
			for i := first; i < last; i++ {
				stack := labelledStack(number)<<32 | labelledStack(w.leaf(i))
				place, ok := places[stack]
				if !ok {
					place = uint32(len(p.stacks))
					places[stack] = place
					p.stacks = append(p.stacks, stack)
					p.values = slices.Grow(p.values, types)[:len(p.values)+types]
				}
				values := p.values[int(place)*types:][:types]
				for j, column := range columns {
					if column >= 0 {
						values[j] += w.Value(i, column)
					}
				}
			}
			if maxSamples > 0 && len(p.stacks) > maxSamples {
				return fmt.Errorf("%w: %d", ErrTooManySamples, maxSamples)
			}
		}
	}
	return nil
}

// dropEmpty drops samples without a value: what older windows say of a moment.
func (p *Pprof) dropEmpty() {
	types := len(p.head.SampleTypes)
	kept := 0
	for i, stack := range p.stacks {
		values := p.values[i*types:][:types]
		if slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) {
			p.stacks[kept] = stack
			copy(p.values[kept*types:], values)
			kept++
		}
	}
	p.stacks, p.values = p.stacks[:kept], p.values[:kept*types]
}

// Write writes the profile, compressed. It fails when the context of the view has ended.
func (p *Pprof) Write(to io.Writer) error {
	w := pprofWriter{
		Writer:    pprofout.NewWriter(to),
		code:      &p.view.code,
		ids:       make([]uint32, len(p.view.code.locations)),
		functions: make(map[*Function]uint64),
	}
	defer w.Discard()
	head := p.head
	head.DurationNanos = p.Duration.Nanoseconds()
	if !p.Start.IsZero() {
		head.TimeNanos = ident.UnixNano(p.Start)
	}
	w.Header(head)
	w.mappings = slices.Clone(p.mappings)
	var labels []pprofout.Label
	labelled := -1
	types := len(head.SampleTypes)
	for i, stack := range p.stacks {
		if p.view.ended() {
			return p.view.ctx.Err()
		}
		if number := int(stack >> 32); number != labelled {
			labelled = number
			labels = p.appendLabels(labels[:0], p.labels[number])
			w.Labels(labels)
		}
		w.sample(frames.ID(uint32(stack)), p.values[i*types:][:types])
	}
	w.places()
	if err := p.view.ctx.Err(); err != nil {
		return err
	}
	return w.Close()
}

// appendLabels appends the labels of a group.
func (p *Pprof) appendLabels(labels []pprofout.Label, g samples.Group) []pprofout.Label {
	for _, l := range g.Labels().Labels {
		labels = append(labels, pprofout.Label{Key: l.Key, Value: l.Value, Unit: l.Unit, Num: l.Num})
	}
	if p.withoutIDs {
		return labels
	}
	for _, id := range [...]pprofout.Label{
		{Key: labelkey.ProfileID, Value: g.ProfileID()},
		{Key: labelkey.SpanID, Value: g.SpanID()},
		{Key: labelkey.TraceID, Value: g.TraceID()},
		{Key: labelkey.EndedSpanID, Value: g.Ended().String()},
	} {
		if id.Value != "" {
			labels = append(labels, id)
		}
	}
	return labels
}

// pprofWriter writes stacks. It numbers what they refer to as it comes, from 1 on, and
// writes that after the samples.
type pprofWriter struct {
	*pprofout.Writer
	code *code
	// ids are those of the locations, by their place.
	ids       []uint32
	locations []*Location
	functions map[*Function]uint64
	mappings  []*Mapping

	stack []uint64
}

func (w *pprofWriter) sample(leaf frames.ID, values []int64) {
	w.stack = w.stack[:0]
	for leaf != 0 {
		parent, place := w.code.frames.At(leaf)
		if w.ids[place] == 0 {
			w.locations = append(w.locations, w.code.locations[place])
			w.ids[place] = uint32(len(w.locations))
		}
		w.stack = append(w.stack, uint64(w.ids[place]))
		leaf = parent
	}
	w.Sample(w.stack, values)
}

// places writes the locations of the samples, and their functions and mappings.
func (w *pprofWriter) places() {
	var lines []pprofout.Line
	var functions []*Function
	for i, l := range w.locations {
		lines = lines[:0]
		for _, line := range l.Lines {
			id := w.functions[line.Function]
			if id == 0 {
				functions = append(functions, line.Function)
				id = uint64(len(functions))
				w.functions[line.Function] = id
			}
			lines = append(lines, pprofout.Line{Function: id, Line: line.Line, Column: line.column})
		}
		w.Location(pprofout.Location{ID: uint64(i + 1), Mapping: w.mapping(l.Mapping), Address: l.Address, Lines: lines, Folded: l.folded})
	}
	for i, f := range functions {
		w.Function(pprofout.Function{ID: uint64(i + 1), Name: f.Name, SystemName: f.systemName, Filename: f.File, StartLine: f.StartLine})
	}
	for i, m := range w.mappings {
		w.Mapping(pprofout.Mapping{
			ID: uint64(i + 1), Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File, BuildID: m.BuildID,
			HasFunctions: m.hasFunctions, HasFilenames: m.hasFilenames, HasLineNumbers: m.hasLineNumbers, HasInlineFrames: m.hasInlineFrames,
		})
	}
}

// mapping returns the ID of a mapping, 0 for nil.
func (w *pprofWriter) mapping(m *Mapping) uint64 {
	if m == nil {
		return 0
	}
	i := slices.Index(w.mappings, m)
	if i < 0 {
		i = len(w.mappings)
		w.mappings = append(w.mappings, m)
	}
	return uint64(i + 1)
}
