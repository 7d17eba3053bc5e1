// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"fmt"
	"iter"
	"sort"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// adder sums the rows of windows.
type adder struct {
	answer *Answer
	query  *Query
	labels table[string]
	sums   table[uint32] // stacks in the order of the answer
	places []int         // 1 more than the place of the last sum of some labels
	// sorted, ids and texts are the values of profile_id, names the values of span_name.
	sorted       [][]ident.Key
	ids          []ident.Key // of odd groups, perhaps several times
	texts, names map[string]bool

	// of is the segment of the last window. copier copies its stacks to the answer. values and
	// samples are its sums by stack. seen has its groups, named its sets.
	// known is 1 more than the place of the labels of each set, for a resource.
	of              *Segment
	copier          *copier
	values, samples []int64
	seen, named     []bool
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
		b.of = f.of
		b.copier = newCopier(a.code, f.of)
		b.values, b.samples = make([]int64, len(f.of.code.frames.list)), make([]int64, len(f.of.code.frames.list))
		b.seen, b.named = make([]bool, len(f.of.groups.list)), make([]bool, len(f.of.sets.list))
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
		b.values[stack] += value
		b.samples[stack] += n
	}
}

// addLabels adds the sums by labels that are no ids: a window has few different sets.
func (b *adder) addLabels(f *found, column int) {
	if r := f.resource(); b.of != f.of || b.resource != r {
		b.of, b.resource, b.known = f.of, r, make([]uint32, len(f.of.sets.list))
	}
	a, start, last, at := b.answer, int64(0), -1, 0
	if b.query.Windows {
		start = f.start
	}
	for row := range f.rows() {
		value := f.value(row, column)
		if value == 0 {
			continue
		}
		if g := f.groups.At(row); g != last {
			last, at = g, b.sumOf(f, f.of.groups.list[g].set, start)
		}
		n := f.count(row)
		a.Total += value
		a.Samples += n
		a.Sums[at].Value += value
		a.Sums[at].Samples += n
	}
}

// sumOf returns the place of the sum of a set.
func (b *adder) sumOf(f *found, set uint32, start int64) int {
	if b.known[set] == 0 {
		b.known[set] = b.labelsOf(f, set) + 1
	}
	labels := b.known[set] - 1
	at := b.places[labels] - 1
	if at < 0 || b.answer.Sums[at].Start != start {
		at = len(b.answer.Sums)
		b.places[labels], b.answer.Sums = at+1, append(b.answer.Sums, Sum{Labels: labels, Start: start})
	}
	return at
}

// note enters the profile_id and the name of a group.
func (b *adder) note(s *Segment, g uint32) {
	if b.seen[g] {
		return
	}
	b.seen[g] = true
	if !s.groups.list[g].odd {
		// in the order of the index: see profiles
	} else if profile, _ := s.idsIn(g); profile != 0 {
		b.ids = append(b.ids, profile)
	} else if id := s.label(g, labelkey.ProfileID); id != "" {
		b.texts[id] = true
	}
	if set := s.groups.list[g].set; !b.named[set] && len(b.names) < maxSpanNames {
		b.named[set] = true
		b.names[s.value(set, labelkey.SpanName)] = true
	}
}

// profiles returns the different values of profile_id of some groups, sorted.
func (s *Segment) profiles(groups []bool) (ids []ident.Key) {
	last := ident.Key(0)
	for i := range s.index.order.Len() {
		g := s.index.order.At(i)
		if id := s.groups.list[g].span; groups[g] && id != last {
			last, ids = id, append(ids, id)
		}
	}
	return ids
}

// union merges sorted lists. Equal ids become one.
func union(lists [][]ident.Key) []ident.Key {
	if len(lists) == 1 {
		return lists[0]
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
	n := b.labels.add(fmt.Sprintf("%q", values))
	if int(n) == len(b.answer.Labels) {
		b.answer.Labels, b.places = append(b.answer.Labels, values), append(b.places, 0)
	}
	return n
}

// flush adds the sums by stack of a segment to the answer.
func (b *adder) flush() {
	for n, value := range b.values {
		if b.samples[n] == 0 && value == 0 {
			continue
		}
		stack := b.copier.stack(uint32(n))
		at := b.sums.add(stack)
		if int(at) == len(b.answer.Sums) {
			b.answer.Sums = append(b.answer.Sums, Sum{Stack: stack})
		}
		b.answer.Sums[at].Value += value
		b.answer.Sums[at].Samples += b.samples[n]
	}
	if b.seen != nil {
		b.sorted = append(b.sorted, b.of.profiles(b.seen))
	}
	b.values, b.samples, b.seen = nil, nil, nil
}

// found is a window with what matches.
type found struct {
	*window
	of      *Segment
	match   *match
	matches bool
}

// rows returns the rows that match. They are in the order of groups.
func (f *found) rows() iter.Seq[int] {
	return func(yield func(int) bool) {
		row := 0
		if f.match.first > 0 {
			row = sort.Search(f.len(), func(row int) bool { return f.groups.At(row) >= f.match.first })
		}
		for ; row < f.len(); row++ {
			g := f.groups.At(row)
			if g > f.match.last || (f.match.is == nil || f.match.is[g]) && !yield(row) {
				return
			}
		}
	}
}

// some reports whether any row matches.
func (f *found) some() bool {
	for range f.rows() {
		return true
	}
	return false
}
