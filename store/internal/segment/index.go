// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"slices"
	"sort"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Sums are the samples of one id. CPU is in nanoseconds.
type Sums struct {
	CPU, Samples int64 // of CPU profiles
	Wall         int64 // samples of wall profiles
	Held         int64 // samples of all kinds
	// AfterEnd is CPU time after the end of the span, AfterEndSamples its samples. They
	// are in no other number.
	AfterEnd, AfterEndSamples int64
}

// Add adds the samples of another segment.
func (s *Sums) Add(o Sums) {
	s.CPU += o.CPU
	s.Samples += o.Samples
	s.Wall += o.Wall
	s.Held += o.Held
	s.AfterEnd += o.AfterEnd
	s.AfterEndSamples += o.AfterEndSamples
}

// index has the sums by id of a segment.
type index struct {
	// order has the groups with one id, sorted by it. sums has the place of the sums of
	// each of these in different: a CPU profile has few different ones.
	order, sums memory.Column
	different   []Sums
	// extras are the sums of groups with the form odd, sorted by id.
	extras []idSums
	// late are the ids of other groups with rows after the end of their span, sorted. sealed is set if
	// the spans of all segments before were searched for them.
	late   []ident.Key
	sealed bool
	// unknown has the ids without a record when it was sealed.
	unknown []groupID
}

// idSums are the sums of one id of a group. own is not set if it is a profile_id beside
// the span_id of another span.
type idSums struct {
	id    ident.Key
	group uint32
	own   bool
	Sums
}

func (x *index) bytes() int64 {
	return x.order.Size() + x.sums.Size() + memory.Slice(x.different) + memory.Slice(x.extras) + memory.Slice(x.late) + memory.Slice(x.unknown)
}

// endOf returns the end of a span in nanoseconds since 1970, 0 if no segment has its record.
func endOf(id ident.Key, segments []*Segment) int64 {
	for _, s := range slices.Backward(segments) {
		if r := s.spans.find(id); r != nil {
			return r.end()
		}
	}
	return 0
}

// sum builds the index of a segment with sorted spans. Rows count as after the end of their
// span if their window starts more than two windows later. before are the segments before,
// which are only searched near the end if the segment is not sealed.
func (s *Segment) sum(before []*Segment, sealed bool) *index {
	if !sealed {
		before = before[max(0, len(before)-2):]
	}
	segments := append(slices.Clip(before), s)
	var late []ident.Key
	sums := make([]Sums, len(s.groups.ids))
	ended := make([]int64, len(s.groups.ids)) // the end of the span of each group, 0 if unknown
	for g := range ended {
		switch s.groups.form(uint32(g)) {
		case both, spanOnly, profileOnly:
			ended[g] = endOf(s.groups.ids[g].span, segments)
		}
	}
	for _, w := range s.windows {
		length := w.end - w.start
		for row := range w.len() {
			g := uint32(w.groups.At(row))
			to, n := &sums[g], w.count(row)
			cpu := w.cpuOf(row)
			to.Held += n
			isLate := ended[g] != 0 && w.start > ended[g]+2*length
			if isLate {
				late = append(late, s.groups.ids[g].span)
			}
			if w.kind == exporter.KindWall {
				to.Wall += n
			}
			if w.kind != exporter.KindCPU {
				continue
			}
			if isLate || s.ended(g) != 0 {
				to.AfterEnd += cpu
				to.AfterEndSamples += n
			}
			if !isLate {
				to.CPU += cpu
				to.Samples += n
			}
		}
	}
	x := s.indexOf(sums)
	slices.Sort(late)
	x.late, x.sealed = slices.Clip(slices.Compact(late)), sealed
	last := ident.Key(0)
	for i := 0; sealed && i < x.order.Len(); i++ {
		g := x.order.At(i)
		if id := s.groups.ids[g]; id.span != last && ended[g] == 0 && s.groups.form(uint32(g)) != profileOnly {
			last, x.unknown = id.span, append(x.unknown, id)
		}
	}
	return x
}

// indexOf sorts the sums of all groups by id.
func (s *Segment) indexOf(sums []Sums) *index {
	x := &index{}
	var order []uint32
	for g := range sums {
		n := uint32(g)
		switch s.groups.form(n) {
		case both, spanOnly, profileOnly:
			order = append(order, n)
		case odd:
			_, span := s.idsIn(n)
			for _, id := range s.named(n) {
				of := sums[g]
				if id == s.ended(n) {
					of = Sums{AfterEnd: of.AfterEnd, AfterEndSamples: of.AfterEndSamples}
				} else {
					of.AfterEnd, of.AfterEndSamples = 0, 0
				}
				x.extras = append(x.extras, idSums{id, n, id == span || span == 0, of})
			}
		}
	}
	ids := s.groups.ids
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(ids[a].span, ids[b].span), cmp.Compare(a, b)) })
	slices.SortFunc(x.extras, func(a, b idSums) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.group, b.group)) })
	places := make([]uint32, len(order))
	numbers := make(map[Sums]uint32)
	for i, g := range order {
		n, ok := numbers[sums[g]]
		if !ok {
			n = uint32(len(x.different))
			numbers[sums[g]] = n
			x.different = append(x.different, sums[g])
		}
		places[i] = n
	}
	x.order, x.sums = memory.NewColumn(order), memory.NewColumn(places)
	x.different, x.extras = slices.Clip(x.different), slices.Clip(x.extras)
	return x
}

// hasLate reports whether the index may have rows of a span long after its end.
func (x *index) hasLate(id ident.Key) bool {
	_, late := slices.BinarySearch(x.late, id)
	_, extra := slices.BinarySearchFunc(x.extras, id, func(e idSums, id ident.Key) int { return cmp.Compare(e.id, id) })
	return late || extra || !x.sealed
}

// find returns the places in order and in extras of the rows of an id, from the first on.
func (x *index) find(s *Segment, id ident.Key) (order, until, extra int) {
	n := x.order.Len()
	order = sort.Search(n, func(i int) bool { return s.groups.ids[x.order.At(i)].span >= id })
	for until = order; until < n && s.groups.ids[x.order.At(until)].span == id; {
		until++
	}
	extra, _ = slices.BinarySearchFunc(x.extras, id, func(e idSums, id ident.Key) int { return cmp.Compare(e.id, id) })
	return order, until, extra
}

// groupsOf returns the groups of an id, sorted. It is never nil.
func (x *index) groupsOf(s *Segment, id ident.Key) []uint32 {
	order, until, extra := x.find(s, id)
	groups := make([]uint32, 0, until-order)
	for i := order; i < until; i++ {
		groups = append(groups, uint32(x.order.At(i)))
	}
	for _, e := range x.extras[extra:] {
		if e.id != id {
			break
		}
		groups = append(groups, e.group)
	}
	slices.Sort(groups)
	return groups
}

// isSpanID reports whether an id is the span_id of rows.
func (x *index) isSpanID(s *Segment, id ident.Key) bool {
	order, until, _ := x.find(s, id)
	for i := order; i < until; i++ {
		if s.groups.form(uint32(x.order.At(i))) != profileOnly {
			return true
		}
	}
	return false
}

// of returns the sums of an id, and the last of its own groups, -1 for none. ok is false if
// it has no rows.
func (x *index) of(s *Segment, id ident.Key) (sums Sums, group int, ok bool) {
	group = -1
	if id == 0 {
		return Sums{}, group, false
	}
	order, until, extra := x.find(s, id)
	for i := order; i < until; i++ {
		sums.Add(x.different[x.sums.At(i)])
		group, ok = max(group, x.order.At(i)), true
	}
	for _, e := range x.extras[extra:] {
		if e.id != id {
			break
		}
		sums.Add(e.Sums)
		if ok = true; e.own {
			group = max(group, int(e.group))
		}
	}
	return sums, group, ok
}
