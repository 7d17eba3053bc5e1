// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/attributes"
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
	// extras are the sums of odd groups, sorted by id.
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

// endsOf returns the end of the span of each group, 0 without a record in the segments. order has
// the groups by id.
func (s *Segment) endsOf(order *memory.Column, segments []*Segment) []int64 {
	ends := make([]int64, len(s.groups.list))
	for _, of := range slices.Backward(segments) {
		list, i := of.spans.list, 0
		for k := range order.Len() {
			g := order.At(k)
			id := s.groups.list[g].span
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
	groups := s.groups.list
	sums := make([]Sums, len(groups))
	var order []uint32
	for g := range uint32(len(groups)) {
		if groups[g].span != 0 {
			order = append(order, g)
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(groups[a].span, groups[b].span), cmp.Compare(a, b)) })
	x := &index{order: memory.NewColumn(order), sealed: sealed}
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
				late = append(late, s.groups.list[g].span)
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

// set sets the sums of all groups by id.
func (x *index) set(s *Segment, sums []Sums) {
	for g := range sums {
		n := uint32(g)
		if !s.groups.list[n].odd {
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
	var different table[Sums]
	for i := range places {
		places[i] = different.add(sums[x.order.At(i)])
	}
	x.sums, x.different, x.extras = memory.NewColumn(places), slices.Clip(different.list), slices.Clip(x.extras)
}

// hasLate reports whether the index may have rows of a span long after its end.
func (x *index) hasLate(id ident.Key) bool {
	_, late := slices.BinarySearch(x.late, id)
	_, extra := slices.BinarySearchFunc(x.extras, id, func(e idSums, id ident.Key) int { return cmp.Compare(e.id, id) })
	return late || extra || !x.sealed
}

// each returns the groups of an id, with their sums.
func (x *index) each(s *Segment, id ident.Key) iter.Seq2[uint32, *Sums] {
	return func(yield func(uint32, *Sums) bool) {
		if id == 0 {
			return
		}
		n := x.order.Len()
		for i := sort.Search(n, func(i int) bool { return s.groups.list[x.order.At(i)].span >= id }); i < n; i++ {
			g := uint32(x.order.At(i))
			if s.groups.list[g].span != id {
				break
			}
			if !yield(g, &x.different[x.sums.At(i)]) {
				return
			}
		}
		at, _ := slices.BinarySearchFunc(x.extras, id, func(e idSums, id ident.Key) int { return cmp.Compare(e.id, id) })
		for ; at < len(x.extras) && x.extras[at].id == id; at++ {
			if !yield(x.extras[at].group, &x.extras[at].Sums) {
				return
			}
		}
	}
}

// isSpanID reports whether an id is the span_id of rows.
func (x *index) isSpanID(s *Segment, id ident.Key) bool {
	for g := range x.each(s, id) {
		if _, span := s.idsIn(g); span == id {
			return true
		}
	}
	return false
}

// of returns the sums of an id, and the span_name of the last of its groups. ok is false if it
// has no rows.
func (x *index) of(s *Segment, id ident.Key) (sums Sums, label string, ok bool) {
	last := -1
	for g, of := range x.each(s, id) {
		sums.Add(*of)
		ok = true
		if _, span := s.idsIn(g); span == id || span == 0 { // it may be of another span
			last = max(last, int(g))
		}
	}
	if last >= 0 {
		label = s.label(uint32(last), labelkey.SpanName)
	}
	return sums, label, ok
}

const (
	// perBand is how many spans of a name have a rank for each latency band: the slowest.
	// As many with the most CPU time have one.
	perBand = 10
	// perError is how many errors of a name and type have a rank. maxErrorTypes bounds the
	// types of a name.
	perError      = 3
	maxErrorTypes = 16
	// errorBand and cpuBand are lists beside the bands of latency.
	errorBand = -1
	cpuBand   = -2
)

// band returns the latency band of a span. The bands end at 1 ms, 4 ms, 16 ms and so on.
func band(duration int64) int {
	b := 0
	for ; duration >= int64(time.Millisecond) && b < 9; duration /= 4 {
		b++
	}
	return b
}

// ranking is a list of spans with a rank. text distinguishes errors.
type ranking struct {
	service, name, text string
	band                int
}

// ranked is a span in a list.
type ranked struct {
	id    ident.Key
	value int64
}

// rankings are the spans with a rank. Of a name they are the slowest of each band, and the
// spans with the most CPU time. The last errors of each type have a rank too.
type rankings map[ranking][]ranked

// add ranks spans. cpu returns what ranks them beside their duration.
func (l rankings) add(s *spans, keys *attributes.Keys, types map[nameKey]int, cpu func(*record) int64) {
	for i := range s.list {
		r := &s.list[i]
		if r.child {
			continue
		}
		of := ranking{service: s.texts.list[r.service], name: s.texts.list[r.name], band: band(r.duration)}
		l.enter(of, ranked{r.id, r.duration}, perBand)
		of.band = cpuBand
		if n := cpu(r); n > 0 {
			l.enter(of, ranked{r.id, n}, perBand)
		}
		if r.err {
			of.band, of.text = errorBand, errorType(s.texts.list[r.status], s.texts.list[r.attributes], keys)
			if _, ok := l[of]; !ok {
				key := nameKey{of.service, of.name}
				if types[key]++; types[key] > maxErrorTypes {
					of.text = otherName
				}
			}
			l.enter(of, ranked{r.id, r.end()}, perError)
		}
	}
}

// errorType returns what an error has in common with others: its type, or its status without
// digits, which may be ids.
func errorType(status, set string, keys *attributes.Keys) string {
	for e := range keys.All(set) {
		if e.Key == attributes.ErrorType || e.Key == attributes.ExceptionType {
			return e.Value
		}
	}
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, status)
}

// enter puts a span into a sorted list of at most n.
func (l rankings) enter(to ranking, r ranked, n int) {
	of := l[to]
	if len(of) == n && of[n-1].value >= r.value {
		return
	}
	i, _ := slices.BinarySearchFunc(of, r, func(a, b ranked) int { return cmp.Compare(b.value, a.value) })
	of = slices.Insert(of, i, r)
	l[to] = of[:min(len(of), n)]
}
