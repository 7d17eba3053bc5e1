// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// groups are the ids and labels that rows have in common. Most spans have one group.
type groups struct {
	// ids and labelled have an element per group. labelled is its place in labellings,
	// which packed has in a sealed segment.
	ids      []groupID
	labelled []uint32
	packed   memory.Column
	sets     table[link[label]] // sorted labels, without the ids unless the form is odd
	// labellings are the different label sets with the form of the ids.
	labellings table[labelling]
	// index has 1 more than the last group of a key, and next the one before it. Both are
	// nil once the segment is sealed. A map of whole groups takes thrice the memory.
	index map[uint64]uint32
	next  []uint32
}

// groupID is the ids of a group in binary. Both are zero in the form odd.
type groupID struct {
	span  ident.Key
	trace trace.TraceID
}

type group struct {
	groupID
	labelled uint32
}

// key differs for most groups.
func (g *group) key() uint64 { return uint64(g.span) ^ uint64(g.labelled)*0x9e3779b97f4a7c15 }

// form is the way in which labels hold the ids of a group.
type form uint8

const (
	// none: profile_id and span_id are absent.
	none form = iota
	// both labels are the id of the span.
	both
	spanOnly
	profileOnly
	// odd: the labels differ, or are no ids, or the span had ended. The set has them.
	odd
)

type labelling struct {
	set  uint32
	form form
}

type label struct {
	key, value, unit uint32 // texts
	number           int64
	numeric          bool
}

func compareLabels(a, b label) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(bit(a.numeric), bit(b.numeric)))
}

// setOf returns the number of a set of labels, which it sorts.
func (g *groups) setOf(labels []label) (n uint32) {
	slices.SortStableFunc(labels, compareLabels) // values of one key keep their order
	for _, of := range slices.Backward(labels) {
		n = g.sets.add(link[label]{n, of})
	}
	return n
}

// value returns the first value of a label in a set, "" for none. Numbers are decimal.
func (s *Segment) value(set uint32, key string) string {
	for of := range all(&s.groups.sets, set) {
		if s.texts.list[of.key] == key {
			return s.valueOf(of)
		}
	}
	return ""
}

func (s *Segment) valueOf(l label) string {
	if l.numeric {
		return strconv.FormatInt(l.number, 10)
	}
	return s.texts.list[l.value]
}

func (g *groups) seal() {
	g.ids = append(make([]groupID, 0, len(g.ids)), g.ids...)
	g.packed, g.labelled = memory.NewColumn(g.labelled), nil
	g.sets.seal()
	g.labellings.seal()
	g.index, g.next = nil, nil
}

func (g *groups) bytes() int64 {
	return memory.Slice(g.ids) + memory.Slice(g.labelled) + g.packed.Size() + g.sets.bytes() + g.labellings.bytes() +
		memory.Map(len(g.index), 16) + memory.Slice(g.next)
}

func (g *groups) add(of group) uint32 {
	key := of.key()
	last := g.index[key]
	for n := last; n != 0; n = g.next[n-1] {
		if g.ids[n-1] == of.groupID && g.labelled[n-1] == of.labelled {
			return n - 1
		}
	}
	g.ids, g.labelled, g.next = append(g.ids, of.groupID), append(g.labelled, of.labelled), append(g.next, last)
	if g.index == nil {
		g.index = make(map[uint64]uint32)
	}
	g.index[key] = uint32(len(g.ids))
	return uint32(len(g.ids) - 1)
}

// labelling returns the place of a group's labels in labellings.
func (g *groups) labelling(n uint32) uint32 {
	if g.labelled == nil {
		return uint32(g.packed.At(int(n)))
	}
	return g.labelled[n]
}

// form returns how the labels of a group hold its ids.
func (g *groups) form(n uint32) form { return g.labellings.list[g.labelling(n)].form }

func (g *groups) set(n uint32) uint32 { return g.labellings.list[g.labelling(n)].set }

// groupOf returns the group of a sample. scratch is used again.
func (s *Segment) groupOf(sm *profile.Sample, scratch *[]label) uint32 {
	ids := [3]string{first(sm, labelkey.ProfileID), first(sm, labelkey.SpanID), first(sm, labelkey.TraceID)}
	ended := ident.ParseKey(first(sm, labelkey.EndedSpanID))
	// Nothing counts for a span after its end.
	disowned := ended != 0 && (ident.ParseKey(ids[0]) == ended || ident.ParseKey(ids[1]) == ended)
	var id groupID
	var l labelling
	id, l.form = binaryIDs(ids, ended)
	set := (*scratch)[:0]
	for key, values := range sm.Label {
		switch key {
		case labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID:
			if l.form != odd || disowned && key != labelkey.TraceID || first(sm, key) == "" {
				continue
			}
			values = values[:1]
		case labelkey.SpanName:
			if disowned {
				continue
			}
		}
		for _, value := range values {
			set = append(set, label{key: s.texts.add(key), value: s.texts.add(value)})
		}
	}
	for key, numbers := range sm.NumLabel {
		for i, number := range numbers {
			l := label{key: s.texts.add(key), number: number, numeric: true}
			if units := sm.NumUnit[key]; i < len(units) {
				l.unit = s.texts.add(units[i])
			}
			set = append(set, l)
		}
	}
	*scratch = set
	l.set = s.groups.setOf(set)
	return s.groups.add(group{id, s.groups.labellings.add(l)})
}

// binaryIDs returns the ids of a group, from its profile_id, span_id and trace_id.
func binaryIDs(ids [3]string, ended ident.Key) (id groupID, as form) {
	id.span = ident.ParseKey(cmp.Or(ids[1], ids[0]))
	of, err := trace.TraceIDFromHex(ids[2])
	switch {
	case ended != 0, err != nil && ids[2] != "", id.span == 0 && ids[0]+ids[1] != "", ids[0] != ids[1] && ids[0] != "" && ids[1] != "":
		return groupID{}, odd
	case id.span == 0:
		as = none
	case ids[0] == "":
		as = spanOnly
	case ids[1] == "":
		as = profileOnly
	default:
		as = both
	}
	id.trace = of
	return id, as
}

// first returns the first value of a label, "" for none.
func first(s *profile.Sample, key string) string {
	if values := s.Label[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// idsIn returns the spans that a group's profile_id and span_id name, 0 for none. They
// are equal for most.
func (s *Segment) idsIn(group uint32) (profile, span ident.Key) {
	id := s.groups.ids[group].span
	switch s.groups.form(group) {
	case both:
		return id, id
	case spanOnly:
		return 0, id
	case profileOnly:
		return id, 0
	case odd:
		return ident.ParseKey(s.label(group, labelkey.ProfileID)), ident.ParseKey(s.label(group, labelkey.SpanID))
	}
	return 0, 0
}

// isLabelled reports whether a group has a profile_id, a span_id or a span_name.
func (s *Segment) isLabelled(group uint32) bool {
	switch s.groups.form(group) {
	case both, spanOnly, profileOnly:
		return true
	}
	return s.label(group, labelkey.SpanName) != "" || s.label(group, labelkey.ProfileID) != "" || s.label(group, labelkey.SpanID) != ""
}

// ended returns the span that had ended when the rows of a group were taken, 0 for none.
func (s *Segment) ended(group uint32) ident.Key {
	if s.groups.form(group) != odd {
		return 0
	}
	return ident.ParseKey(s.label(group, labelkey.EndedSpanID))
}

// label returns a label of a group as text, "" for none.
func (s *Segment) label(group uint32, key string) string {
	id, as := s.groups.ids[group], s.groups.form(group)
	if as == odd {
		return s.value(s.groups.set(group), key)
	}
	switch key {
	case labelkey.ProfileID:
		if as == both || as == profileOnly {
			return id.span.String()
		}
		return ""
	case labelkey.SpanID:
		if as == both || as == spanOnly {
			return id.span.String()
		}
		return ""
	case labelkey.TraceID:
		if id.trace.IsValid() {
			return id.trace.String()
		}
		return ""
	}
	return s.value(s.groups.set(group), key)
}
