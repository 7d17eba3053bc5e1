// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"

	"go.opentelemetry.io/otel/trace"
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
}

// idSums are the sums of one id of a group.
type idSums struct {
	id    ident.Key
	group uint32
	Sums
}

func (x *index) bytes() int64 {
	return x.order.Size() + x.sums.Size() + memory.Slice(x.different) + memory.Slice(x.extras) + memory.Slice(x.late)
}

// endsOf returns the end of the span of each group in nanoseconds since 1970, 0 if no segment has
// its record. order has the groups by id.
func (s *Segment) endsOf(order *memory.Column, segments []*Segment) []int64 {
	ends := make([]int64, len(s.groups.ids))
	for _, of := range slices.Backward(segments) {
		list, i := of.spans.list, 0
		for k := range order.Len() {
			g := order.At(k)
			id := s.groups.ids[g].span
			for i < len(list) && list[i].id < id {
				i++
			}
			if i < len(list) && list[i].id == id && ends[g] == 0 {
				ends[g] = list[i].end()
			}
		}
	}
	return ends
}

// sum builds the index of a segment with sorted spans. Rows count as after the end of their
// span if their window starts more than two windows later. before are the segments before,
// which are only searched near the end if the segment is not sealed.
func (s *Segment) sum(before []*Segment, sealed bool) *index {
	if !sealed {
		before = before[max(0, len(before)-2):]
	}
	var late []ident.Key
	sums := make([]Sums, len(s.groups.ids))
	x := &index{order: s.order(), sealed: sealed}
	ended := s.endsOf(&x.order, append(slices.Clip(before), s))
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
	slices.Sort(late)
	x.late = slices.Clip(slices.Compact(late))
	x.set(s, sums)
	return x
}

// order returns the groups with one id, sorted by it.
func (s *Segment) order() memory.Column {
	ids := s.groups.ids
	var order []uint32
	for g := range uint32(len(ids)) {
		if as := s.groups.form(g); as != none && as != odd {
			order = append(order, g)
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(ids[a].span, ids[b].span), cmp.Compare(a, b)) })
	return memory.NewColumn(order)
}

// set sets the sums of all groups by id.
func (x *index) set(s *Segment, sums []Sums) {
	for g := range sums {
		n := uint32(g)
		if s.groups.form(n) != odd {
			continue
		}
		for _, id := range s.named(n) {
			of := sums[g]
			if id == s.ended(n) {
				of = Sums{AfterEnd: of.AfterEnd, AfterEndSamples: of.AfterEndSamples}
			} else {
				of.AfterEnd, of.AfterEndSamples = 0, 0
			}
			x.extras = append(x.extras, idSums{id, n, of})
		}
	}
	slices.SortFunc(x.extras, func(a, b idSums) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.group, b.group)) })
	places := make([]uint32, x.order.Len())
	numbers := make(map[Sums]uint32)
	for i := range places {
		of := sums[x.order.At(i)]
		n, ok := numbers[of]
		if !ok {
			n = uint32(len(x.different))
			numbers[of], x.different = n, append(x.different, of)
		}
		places[i] = n
	}
	x.sums, x.different, x.extras = memory.NewColumn(places), slices.Clip(x.different), slices.Clip(x.extras)
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

// of returns the sums of an id, and the last of its groups, -1 for none. ok is false if
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
		ok = true
		if _, span := s.idsIn(e.group); span == id || span == 0 { // it may be of another span
			group = max(group, int(e.group))
		}
	}
	return sums, group, ok
}

// markSampled counts the samples of a window for its spans, and for spans that end later.
func (s *Segment) markSampled(w *window) {
	for row := range w.len() {
		n := uint32(1)
		if w.kind == exporter.KindCPU {
			n = uint32(w.count(row))
		}
		profile, span := s.idsIn(uint32(w.groups.At(row)))
		for _, id := range [...]ident.Key{profile, span} {
			if i, ok := s.spans.at(id); ok {
				s.spans.marks[i].samples += n
			} else if id != 0 {
				s.spans.early[id] += n
			}
			if profile == span {
				break
			}
		}
	}
	s.spans.most = make([][firstRanks]uint32, len(s.spans.slowest))
	for _, m := range s.spans.marks {
		if m.name < 0 || int(m.name) >= len(s.spans.most) {
			continue
		}
		of := &s.spans.most[m.name]
		for i := range of {
			if m.samples > of[i] {
				of[i], m.samples = m.samples, of[i]
			}
		}
	}
}

// countUnseen counts samples of the segment before one that is sealed now. They are of spans
// that do not run and have no record. Their provider has no processor of this store. Ids in
// older segments are left out: a program may keep a copy of labels for long.
func (r *Room) countUnseen(sealed *Segment) {
	seen := func(id groupID) bool {
		return sealed.spans.find(id.span) != nil || r.gone[id.span] || r.unlisted(id.trace)
	}
	if last := len(r.sealed) - 1; last >= 0 && len(r.unknown) > 0 && r.Running != nil {
		running := r.Running()
		for _, id := range r.unknown {
			if !seen(id) && !running[id.span.String()] && !running[id.trace.String()] {
				sums, _, _ := r.sealed[last].index.of(r.sealed[last], id.span)
				r.counts.Unseen += sums.Samples
			}
		}
	}
	r.unknown = nil
	if r.counts.SpansEnded == 0 {
		return
	}
	order := &sealed.index.order
	ends := sealed.endsOf(order, append(slices.Clip(r.before()), sealed))
	for i := range order.Len() {
		g := order.At(i)
		id := sealed.groups.ids[g]
		if n := len(r.unknown); ends[g] == 0 && sealed.groups.form(uint32(g)) != profileOnly && (n == 0 || r.unknown[n-1].span != id.span) && !seen(id) {
			r.unknown = append(r.unknown, id)
		}
	}
	for _, of := range r.before() {
		i, n := 0, of.index.order.Len()
		at := func(i int) ident.Key { return of.groups.ids[of.index.order.At(i)].span }
		r.unknown = slices.DeleteFunc(r.unknown, func(id groupID) bool {
			for i < n && at(i) < id.span {
				i++
			}
			return i < n && at(i) == id.span
		})
	}
	clear(r.gone)
}

// unlisted reports whether spans of a trace only count by name.
func (r *Room) unlisted(id trace.TraceID) bool {
	return r.least != 0 && id.IsValid() && binary.BigEndian.Uint64(id[:8]) < r.least
}
