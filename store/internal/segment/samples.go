// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// ErrUnknownType is the cause of errors about a type that no profile of the kind has.
var ErrUnknownType = errors.New("unknown sample type")

// Query selects rows, and how they are summed.
type Query struct {
	Kind exporter.Kind
	// Type is the column to sum, "" for the default.
	Type     string
	Matchers []Matcher
	// From and Until select the windows that overlap that time, in nanoseconds since
	// 1970. An Until of 0 means no end.
	From, Until int64
	// Stacks sums by stack, By by labels, Windows by the start of the window.
	Stacks  bool
	By      []string
	Windows bool
}

// Answer is the sums of a query.
type Answer struct {
	// Types are the types of the kind. Type is the type of the values.
	Types []ValueType
	Type  ValueType
	// Sums are in the order in which they were found. Labels has the values of By.
	Sums   []Sum
	Labels [][]string
	// Total and Samples are the sums of all.
	Total, Samples int64
	// Held is the number of windows in the time of the query, and of older ones with
	// matches. Matched is the number of windows with matches. From and Until bound Held.
	Held, Matched int
	From, Until   int64

	code *Segment
}

// Sum is one sum of an answer.
type Sum struct {
	Stack          uint32 // 0 for none, see Stack
	Labels         uint32 // in Labels, if the query has By
	Start          int64  // of the window, if the query has Windows
	Value, Samples int64
}

// found is a window with the groups that match.
type found struct {
	*window
	of       *Segment
	pass     []bool // by group
	labelled []bool // by labelling, nil if all match
	matches  bool
}

func (f *found) matchesRow(row int) bool {
	g := f.groups.At(row)
	return f.pass[g] && (f.labelled == nil || f.labelled[f.of.groups.labelling(uint32(g))])
}

// Samples answers a query. It returns the error of the context if that ends first.
func (v *View) Samples(ctx context.Context, q *Query) (*Answer, error) {
	a := &Answer{code: newSegment()}
	if err := v.setType(a, q); err != nil {
		return nil, err
	}
	windows, err := v.find(ctx, q)
	if err != nil {
		return nil, err
	}
	current := newest(windows)
	b := adder{answer: a, query: q, labels: make(map[string]uint32), sums: make(map[Sum]int)}
	for i := range windows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := &windows[i]
		if a.Held == 0 || f.start < a.From {
			a.From = f.start
		}
		a.Held++
		a.Until = max(a.Until, f.end)
		if !f.matches {
			continue
		}
		a.Matched++
		column := slices.Index(f.types, a.Type)
		if column < 0 || a.Type.Momentary() && !q.Windows && current[f.service] != f.window {
			continue
		}
		b.add(f, column)
	}
	b.flush()
	return a, nil
}

// find returns the windows of a query. Of the kept ones it returns only those with matches.
func (v *View) find(ctx context.Context, q *Query) (list []found, err error) {
	cache := make(map[*Matcher]map[ident.Key]bool)
	spans := func(m *Matcher) map[ident.Key]bool {
		if cache[m] == nil {
			cache[m] = v.spansOf(m)
		}
		return cache[m]
	}
	segments := v.segments
	if slices.ContainsFunc(q.Matchers, func(m Matcher) bool { return m.lists() }) {
		segments = v.all()
	}
	until := cmp.Or(q.Until, math.MaxInt64)
	for _, s := range segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var pass []bool
		var services []*Matcher
		for _, w := range s.windows {
			if w.kind != q.Kind && q.Kind != "" || !w.overlaps(q.From, until) {
				continue
			}
			if pass == nil {
				pass, services = v.passes(s, q.Matchers, spans)
			}
			f := found{window: w, of: s, pass: pass, labelled: s.onWindow(w, services)}
			for row := 0; row < w.len() && !f.matches; row++ {
				f.matches = f.matchesRow(row)
			}
			if f.matches || s != v.kept {
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// newest returns the latest window with matches of each service. This process is newer
// than all earlier ones.
func newest(windows []found) map[string]*window {
	latest := make(map[string]*found)
	for i := range windows {
		f := &windows[i]
		if !f.matches {
			continue
		}
		if l := latest[f.service]; l == nil || l.of.process != f.of.process || f.end >= l.end {
			latest[f.service] = f
		}
	}
	of := make(map[string]*window)
	for service, f := range latest {
		of[service] = f.window
	}
	return of
}

// setType finds the types of the kind. The types of the newest window are first.
func (v *View) setType(a *Answer, q *Query) error {
	standard := ""
	for _, s := range slices.Backward(v.all()) {
		for _, w := range slices.Backward(s.windows) {
			if w.kind != q.Kind || len(w.types) == 0 {
				continue
			}
			if len(a.Types) == 0 {
				standard = w.types[len(w.types)-1].Name
				if w.column(w.standard) >= 0 {
					standard = w.standard
				}
			}
			for _, t := range w.types {
				if !slices.Contains(a.Types, t) {
					a.Types = append(a.Types, t)
				}
			}
		}
	}
	a.Type.Name = cmp.Or(q.Type, standard)
	var names []string
	for _, t := range slices.Backward(a.Types) {
		if t.Name == a.Type.Name {
			a.Type = t
		}
		names = append(names, t.Name)
	}
	if len(a.Types) > 0 && !slices.Contains(names, a.Type.Name) {
		slices.Sort(names)
		return fmt.Errorf("%s profiles: %w %q: use one of %s", q.Kind, ErrUnknownType, q.Type, strings.Join(slices.Compact(names), ", "))
	}
	return nil
}

// adder sums the rows of windows.
type adder struct {
	answer *Answer
	query  *Query
	labels map[string]uint32
	sums   map[Sum]int // places in the answer, by what is not summed

	// of is the segment of the last window. values and samples are its sums by stack,
	// unless the query has By or Windows.
	of              *Segment
	copier          *copier
	values, samples []int64
}

func (b *adder) add(f *found, column int) {
	a, q := b.answer, b.query
	if b.of != f.of {
		b.flush()
		b.of, b.copier = f.of, newCopier(a.code, f.of)
		b.values, b.samples = make([]int64, len(f.of.code.frames.list)), make([]int64, len(f.of.code.frames.list))
	}
	plain := len(q.By) == 0 && !q.Windows
	byGroup := make(map[int]uint32)
	for row := range f.len() {
		if !f.matchesRow(row) {
			continue
		}
		value := f.value(row, column)
		if value == 0 {
			continue
		}
		n, stack := f.count(row), 0
		if q.Stacks {
			stack = f.stacks.At(row)
		}
		a.Total += value
		a.Samples += n
		if plain {
			b.values[stack] += value
			b.samples[stack] += n
			continue
		}
		key := Sum{Stack: b.copier.stack(uint32(stack))}
		if len(q.By) > 0 {
			g := f.groups.At(row)
			l, ok := byGroup[g]
			if !ok {
				l = b.labelsOf(f, uint32(g))
				byGroup[g] = l
			}
			key.Labels = l
		}
		if q.Windows {
			key.Start = f.start
		}
		b.sum(key, value, n)
	}
}

func (b *adder) sum(key Sum, value, samples int64) {
	at, ok := b.sums[key]
	if !ok {
		at = len(b.answer.Sums)
		b.sums[key] = at
		b.answer.Sums = append(b.answer.Sums, key)
	}
	b.answer.Sums[at].Value += value
	b.answer.Sums[at].Samples += samples
}

// labelsOf returns the place of the labels that a query sums by.
func (b *adder) labelsOf(f *found, g uint32) uint32 {
	values := make([]string, len(b.query.By))
	for i, key := range b.query.By {
		values[i] = cmp.Or(f.of.label(g, key), f.resource(key))
	}
	key := fmt.Sprintf("%q", values)
	n, ok := b.labels[key]
	if !ok {
		n = uint32(len(b.answer.Labels))
		b.labels[key] = n
		b.answer.Labels = append(b.answer.Labels, values)
	}
	return n
}

// flush adds the sums by stack of a segment to the answer.
func (b *adder) flush() {
	for stack, value := range b.values {
		if b.samples[stack] != 0 || value != 0 {
			b.sum(Sum{Stack: b.copier.stack(uint32(stack))}, value, b.samples[stack])
		}
	}
	b.values, b.samples = nil, nil
}

// Location is a place in the code of an answer. Lines has more than one element where
// functions were inlined.
type Location struct {
	Address uint64
	Mapping *Mapping // nil if unknown
	Lines   []Line
	Folded  bool
}

// Line is a line of source code.
type Line struct {
	Function     *Function
	Line, Column int64
}

// Function is a function of the program.
type Function struct {
	Name, System, File string
	Start              int64
}

// Mapping is an executable or a library.
type Mapping struct {
	File, Build                                     string
	Start, Limit, Offset                            uint64
	Functions, Filenames, LineNumbers, InlineFrames bool // are known
}

// Code returns the locations of an answer, and the frames: each has the number of its
// parent and of its location. Frame 0 is the root without a location.
func (a *Answer) Code() (locations []Location, frames [][2]uint32) {
	text := func(n uint32) string { return a.code.texts.list[n] }
	c := &a.code.code
	functions := make([]Function, len(c.functions.list))
	for i, f := range c.functions.list {
		functions[i] = Function{text(f.name), text(f.system), text(f.file), f.start}
	}
	mappings := make([]Mapping, len(c.mappings.list))
	for i, m := range c.mappings.list {
		mappings[i] = Mapping{
			text(m.file), text(m.build), m.start, m.limit, m.offset,
			m.flags&1 != 0, m.flags&2 != 0, m.flags&4 != 0, m.flags&8 != 0,
		}
	}
	locations = make([]Location, len(c.locations.list))
	for i, l := range c.locations.list {
		locations[i] = Location{Address: l.address, Folded: l.folded}
		if l.mapping != 0 {
			locations[i].Mapping = &mappings[l.mapping]
		}
		for _, at := range c.locations.of(l) {
			locations[i].Lines = append(locations[i].Lines, Line{&functions[at.function], at.line, at.column})
		}
	}
	frames = make([][2]uint32, len(c.frames.list))
	for i, f := range c.frames.list {
		frames[i] = [2]uint32{f.parent, f.location}
	}
	return locations, frames
}

// Services returns the services of the windows held, sorted.
func (v *View) Services() []string {
	set := make(map[string]bool)
	for _, s := range v.segments {
		for _, w := range s.windows {
			set[w.service] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
