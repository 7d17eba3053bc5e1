// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// maxSpanNames bounds the names of an answer.
const maxSpanNames = 16

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
	// Stacks sums by stack. Without it, By sums by labels that are no ids, and Windows by
	// the start of the window.
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
	// matches. From and Until bound Held.
	Held        int
	From, Until int64
	// ProfileIDs is the number of different values of profile_id. Names are the values of
	// span_name, at most 16. Both are of queries with Stacks.
	ProfileIDs int
	Names      []string
	// Looks are the intervals between the samples of wall profiles, nil if unknown.
	// LooksLength is the length of all windows of their services.
	Looks       *looks.Looks
	LooksLength int64

	code *Segment
}

// Sum is one sum of an answer.
type Sum struct {
	Stack          uint32 // 0 for none, see Stack
	Labels         uint32 // in Labels, without Stacks
	Start          int64  // of the window, if the query has Windows
	Value, Samples int64
}

// found is a window with what matches.
type found struct {
	*window
	of      *Segment
	match   *match
	matches bool
}

// rows returns the rows that match.
func (f *found) rows() iter.Seq[int] {
	m := f.match
	return func(yield func(int) bool) {
		for _, g := range m.few { // rows are in the order of groups
			n := int(g)
			for row := sort.Search(f.len(), func(i int) bool { return f.groups.At(i) >= n }); row < f.len() && f.groups.At(row) == n; row++ {
				if !yield(row) {
					return
				}
			}
		}
		if m.few != nil {
			return
		}
		last, is := -1, false
		for row := range f.len() {
			if g := f.groups.At(row); g != last {
				last, is = g, (m.all == nil || m.all[g]) && (m.labels == nil || m.labels[f.of.groups.labelling(uint32(g))])
			}
			if is && !yield(row) {
				return
			}
		}
	}
}

// some reports whether any row matches.
func (f *found) some() bool {
	if !f.match.onIDs() && f.countColumn >= 0 {
		for range f.byLabels() {
			return true
		}
		return false
	}
	for range f.rows() {
		return true
	}
	return false
}

// byLabels returns the sums of the rows that match by labelling: the number of samples,
// and a value for each type.
func (f *found) byLabels() iter.Seq2[uint32, []int64] {
	return func(yield func(uint32, []int64) bool) {
		n := 1 + len(f.types)
		if f.match.onIDs() || f.countColumn < 0 {
			labellings, sums := f.of.sumLabels(f.window, f.rows())
			for i, l := range labellings {
				if !yield(l, sums[i*n:][:n]) {
					return
				}
			}
			return
		}
		sums := make([]int64, n)
		for i := range f.labellings.Len() {
			copy(sums[1:], f.tuples[f.sums.At(i)*len(f.types):])
			sums[0] = sums[1+f.countColumn]
			if l := uint32(f.labellings.At(i)); f.match.labels[l] && !yield(l, sums) {
				return
			}
		}
	}
}

// few reports whether only few rows match.
func (f *found) few() bool {
	n := 0
	for range f.rows() {
		if n++; n > 64 || f.match.few == nil {
			return false
		}
	}
	return true
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
	b := adder{
		answer: a, query: q, labels: make(map[string]uint32), sums: make(map[uint32]int),
		texts: make(map[string]bool), names: make(map[string]bool),
	}
	if of := matched(windows); len(of) == 1 {
		a.code = of[0] // no stack need be copied
	}
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
		column := slices.Index(f.types, a.Type)
		if !f.matches || column < 0 || a.Type.Momentary() && !q.Windows && current[f.name()] != f.window {
			continue
		}
		b.add(f, column)
	}
	b.flush()
	slices.Sort(b.ids)
	a.ProfileIDs, a.Names = len(union(append(b.sorted, b.ids)))+len(b.texts), slices.Sorted(maps.Keys(b.names))
	a.Looks, a.LooksLength = looksOf(windows, current)
	return a, nil
}

// matched returns the segments with matches.
func matched(windows []found) (list []*Segment) {
	for i := range windows {
		if f := &windows[i]; f.matches && (len(list) == 0 || list[len(list)-1] != f.of) {
			list = append(list, f.of)
		}
	}
	return list
}

// looksOf returns the intervals between the samples of the windows with matches. The windows
// next to them count too, because a span may begin or end there. Gaps and the length are of
// all windows of the services with matches.
func looksOf(windows []found, current map[string]*window) (all *looks.Looks, length int64) {
	var known []*looks.Looks
	before := make(map[string]*found) // the last one of each service
	merged := make(map[*found]bool)
	for i := range windows {
		f := &windows[i]
		if f.looks == nil {
			continue
		}
		if all == nil {
			all = new(looks.Looks)
		}
		if len(current) == 0 || current[f.name()] != nil {
			known = append(known, f.looks)
			length += f.end - f.start
		}
		last := before[f.name()]
		before[f.name()] = f
		if !f.matches && (last == nil || !last.matches) {
			continue
		}
		for _, near := range []*found{last, f} {
			if near != nil && !merged[near] {
				merged[near] = true
				all.Merge(near.looks)
			}
		}
	}
	if all != nil {
		all.MergeGaps(known...)
	}
	return all, length
}

// find returns the windows of a query. Of the kept ones it returns only those with matches.
func (v *View) find(ctx context.Context, q *Query) (list []found, err error) {
	cache := make(map[*Matcher]map[ident.Key]bool)
	spans := func(m *Matcher) map[ident.Key]bool {
		if cache[m] == nil {
			cache[m] = v.SpansOf(ctx, m)
		}
		return cache[m]
	}
	segments := v.segments
	if slices.ContainsFunc(q.Matchers, func(m Matcher) bool { return m.OnSpan() || m.ListsIDs() }) {
		segments = v.all()
	}
	onService := slices.ContainsFunc(q.Matchers, func(m Matcher) bool { return m.onService() })
	until := cmp.Or(q.Until, math.MaxInt64)
	for _, s := range segments {
		matches := make(map[[2]string]*match) // by resource, if the query is about it
		for _, w := range s.windows {
			if w.kind != q.Kind && q.Kind != "" || !w.overlaps(q.From, until) {
				continue
			}
			var resource [2]string
			if onService {
				resource = w.resource()
			}
			if matches[resource] == nil {
				matches[resource] = v.match(ctx, s, w, q.Matchers, spans)
			}
			f := found{window: w, of: s, match: matches[resource]}
			if f.matches = f.some(); f.matches || s != v.kept {
				list = append(list, f)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// KindTotal is the samples of a kind that a query selects.
type KindTotal struct {
	Kind    exporter.Kind
	Samples int64
	Windows int // with any of them
}

// Kinds returns the samples of each kind that a query selects, by name.
func (v *View) Kinds(ctx context.Context, q *Query) (totals []KindTotal, err error) {
	all := *q
	all.Kind = ""
	windows, err := v.find(ctx, &all)
	if err != nil {
		return nil, err
	}
	for i := range windows {
		f := &windows[i]
		samples := int64(0)
		if f.matches {
			for _, sums := range f.byLabels() {
				samples += sums[0]
			}
		}
		if samples == 0 {
			continue
		}
		at := slices.IndexFunc(totals, func(t KindTotal) bool { return t.Kind == f.kind })
		if at < 0 {
			at = len(totals)
			totals = append(totals, KindTotal{Kind: f.kind})
		}
		totals[at].Samples += samples
		totals[at].Windows++
	}
	slices.SortFunc(totals, func(a, b KindTotal) int { return cmp.Compare(a.Kind, b.Kind) })
	return totals, nil
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
		if l := latest[f.name()]; l == nil || l.of.process != f.of.process || f.end >= l.end {
			latest[f.name()] = f
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
	sums   map[uint32]int // places in the answer, by stack
	places []int          // 1 more than the place of the last sum of some labels
	// sorted, ids and texts are the values of profile_id, names the values of span_name.
	// named is set for a labelling once its name is in names.
	sorted       [][]ident.Key
	ids          []ident.Key // perhaps several times
	texts, names map[string]bool
	named        []bool

	// of is the segment of the last window. values and samples are its sums by stack, and
	// seen has its groups, unless few rows match. known is 1 more than the place of the
	// labels of each labelling, for a resource.
	of              *Segment
	copier          *copier
	values, samples []int64
	seen            []bool
	known           []uint32
	resource        [2]string
}

func (b *adder) add(f *found, column int) {
	if !b.query.Stacks {
		b.addLabels(f, column)
		return
	}
	a := b.answer
	if b.of != f.of {
		b.flush()
		b.of, b.named = f.of, make([]bool, len(f.of.groups.labellings.list))
		if a.code != f.of {
			b.copier = newCopier(a.code, f.of)
		}
		if !f.few() {
			b.values, b.samples = make([]int64, len(f.of.code.frames.list)), make([]int64, len(f.of.code.frames.list))
			b.seen = make([]bool, len(f.of.groups.ids))
		}
	}
	last := -1
	for row := range f.rows() {
		value := f.value(row, column)
		if value == 0 {
			continue
		}
		if g := f.groups.At(row); g != last {
			last = g
			b.note(f.of, uint32(g))
		}
		n, stack := f.count(row), f.stacks.At(row)
		a.Total += value
		a.Samples += n
		if b.values == nil {
			b.sum(uint32(stack), value, n)
			continue
		}
		b.values[stack] += value
		b.samples[stack] += n
	}
}

// addLabels adds the sums by labels that are no ids: a window has few different sets.
func (b *adder) addLabels(f *found, column int) {
	if r := f.resource(); b.of != f.of || b.resource != r {
		b.of, b.resource, b.known = f.of, r, make([]uint32, len(f.of.groups.labellings.list))
	}
	a, start := b.answer, int64(0)
	if b.query.Windows {
		start = f.start
	}
	for l, sums := range f.byLabels() {
		samples, value := sums[0], sums[1+column]
		if value == 0 {
			continue
		}
		a.Total += value
		a.Samples += samples
		if b.known[l] == 0 {
			b.known[l] = b.labelsOf(f, f.of.groups.labellings.list[l].set) + 1
		}
		labels := b.known[l] - 1
		at := b.places[labels] - 1
		if at < 0 || a.Sums[at].Start != start {
			at = len(a.Sums)
			b.places[labels], a.Sums = at+1, append(a.Sums, Sum{Labels: labels, Start: start})
		}
		a.Sums[at].Value += value
		a.Sums[at].Samples += samples
	}
}

// sum adds to the sum of a stack of the last segment.
func (b *adder) sum(stack uint32, value, samples int64) {
	if b.copier != nil {
		stack = b.copier.stack(stack)
	}
	at, ok := b.sums[stack]
	if !ok {
		at = len(b.answer.Sums)
		b.sums[stack] = at
		b.answer.Sums = append(b.answer.Sums, Sum{Stack: stack})
	}
	b.answer.Sums[at].Value += value
	b.answer.Sums[at].Samples += samples
}

// note enters the profile_id and the name of a group.
func (b *adder) note(s *Segment, g uint32) {
	l := s.groups.labelling(g)
	of := s.groups.labellings.list[l]
	if b.seen != nil && of.form != odd {
		b.seen[g] = true
	} else if profile, _ := s.idsIn(g); profile != 0 {
		b.ids = append(b.ids, profile)
	} else if id := s.label(g, labelkey.ProfileID); id != "" {
		b.texts[id] = true
	}
	if !b.named[l] {
		b.named[l] = true
		if name := s.value(of.set, labelkey.SpanName); len(b.names) < maxSpanNames {
			b.names[name] = true
		}
	}
}

// profiles returns the different values of profile_id of some groups, sorted.
func (s *Segment) profiles(groups []bool) (ids []ident.Key) {
	last := ident.Key(0)
	for i := range s.index.order.Len() {
		g := uint32(s.index.order.At(i))
		if id := s.groups.ids[g].span; groups[g] && id != last && s.groups.form(g) != spanOnly {
			last, ids = id, append(ids, id)
		}
	}
	return ids
}

// union merges sorted lists. Equal ids become one.
func union(lists [][]ident.Key) []ident.Key {
	if len(lists) == 1 {
		return slices.Compact(lists[0])
	}
	a, b := union(lists[:len(lists)/2]), union(lists[len(lists)/2:])
	all := make([]ident.Key, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		least := min(a[0], b[0])
		all = append(all, least)
		if a[0] == least {
			a = a[1:]
		}
		if b[0] == least {
			b = b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// labelsOf returns the place of the labels that a query sums by.
func (b *adder) labelsOf(f *found, set uint32) uint32 {
	values := make([]string, len(b.query.By))
	for i, key := range b.query.By {
		values[i] = cmp.Or(f.of.value(set, key), f.resourceLabel(key))
	}
	key := fmt.Sprintf("%q", values)
	n, ok := b.labels[key]
	if !ok {
		n = uint32(len(b.answer.Labels))
		b.labels[key] = n
		b.answer.Labels, b.places = append(b.answer.Labels, values), append(b.places, 0)
	}
	return n
}

// flush adds the sums by stack of a segment to the answer.
func (b *adder) flush() {
	for stack, value := range b.values {
		if b.samples[stack] != 0 || value != 0 {
			b.sum(uint32(stack), value, b.samples[stack])
		}
	}
	if b.seen != nil {
		b.sorted = append(b.sorted, b.of.profiles(b.seen))
	}
	b.values, b.samples, b.seen = nil, nil, nil
}
