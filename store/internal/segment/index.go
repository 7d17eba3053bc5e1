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
}

type idSums struct {
	id    ident.Key
	group uint32
	Sums
}

func (x *index) bytes() int64 {
	return x.order.Size() + x.sums.Size() + memory.Slice(x.different) + memory.Slice(x.extras)
}

// endOf returns the end of a span in nanoseconds since 1970, 0 if no segment has its record.
// Samples are seconds late, and so only the newest segments are searched.
func endOf(id ident.Key, own *Segment, before []*Segment) int64 {
	if r := own.spans.find(id); r != nil {
		return r.end()
	}
	for _, s := range slices.Backward(before[max(0, len(before)-2):]) {
		if r := s.spans.find(id); r != nil {
			return r.end()
		}
	}
	return 0
}

// sum builds the index of a segment with sorted spans. Rows count as after the end of their
// span if their window starts more than two windows later.
func (s *Segment) sum(before []*Segment) *index {
	sums := make([]Sums, len(s.groups.ids))
	ended := make([]int64, len(s.groups.ids)) // the end of the span of each group, 0 if unknown
	for g := range ended {
		switch s.groups.form(uint32(g)) {
		case both, spanOnly, profileOnly:
			ended[g] = endOf(s.groups.ids[g].span, s, before)
		}
	}
	for _, w := range s.windows {
		length := w.end - w.start
		for row := range w.len() {
			g := uint32(w.groups.At(row))
			to, n := &sums[g], w.count(row)
			cpu := w.cpuOf(row)
			to.Held += n
			late := ended[g] != 0 && w.start > ended[g]+2*length
			if w.kind == exporter.KindCPU && (late || s.ended(g) != 0) {
				to.AfterEnd += cpu
				to.AfterEndSamples += n
			}
			if late && w.kind == exporter.KindCPU {
				continue
			}
			switch w.kind {
			case exporter.KindCPU:
				to.CPU += cpu
				to.Samples += n
			case exporter.KindWall:
				to.Wall += n
			}
		}
	}
	return s.indexOf(sums)
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
			profile, span := s.idsIn(n)
			ids := []ident.Key{profile, span, s.ended(n)}
			slices.Sort(ids)
			for _, id := range slices.Compact(ids) {
				if id == 0 {
					continue
				}
				of := sums[g]
				if id == s.ended(n) {
					of = Sums{AfterEnd: of.AfterEnd, AfterEndSamples: of.AfterEndSamples}
				} else {
					of.AfterEnd, of.AfterEndSamples = 0, 0
				}
				x.extras = append(x.extras, idSums{id, n, of})
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

// of returns the sums of an id, and the last of its groups. ok is false if it has no rows.
func (x *index) of(s *Segment, id ident.Key) (sums Sums, group uint32, ok bool) {
	if id == 0 {
		return Sums{}, 0, false
	}
	n := x.order.Len()
	for i := sort.Search(n, func(i int) bool { return s.groups.ids[x.order.At(i)].span >= id }); i < n; i++ {
		g := uint32(x.order.At(i))
		if s.groups.ids[g].span != id {
			break
		}
		sums.Add(x.different[x.sums.At(i)])
		group, ok = max(group, g), true
	}
	first, _ := slices.BinarySearchFunc(x.extras, id, func(e idSums, id ident.Key) int { return cmp.Compare(e.id, id) })
	for _, e := range x.extras[first:] {
		if e.id != id {
			break
		}
		sums.Add(e.Sums)
		group, ok = max(group, e.group), true
	}
	return sums, group, ok
}
