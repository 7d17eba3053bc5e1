// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Ended is a span that has ended, as the intake delivers it. In files Trace and Attributes
// have another form.
type Ended struct {
	ID         ident.Key      `json:"id"`
	Parent     ident.Key      `json:"parent,omitzero"`
	Trace      trace.TraceID  `json:"-"`
	Name       string         `json:"name,omitempty"`
	Service    string         `json:"service,omitempty"`
	Status     string         `json:"status,omitempty"` // the description, "" unless Err
	Attributes string         `json:"-"`                // as package attributes encodes them
	Start      int64          `json:"start"`            // in nanoseconds since 1970
	Duration   int64          `json:"duration"`
	Kind       trace.SpanKind `json:"kind,omitempty"`
	Err        bool           `json:"err,omitempty"`
	LocalRoot  bool           `json:"localRoot,omitempty"`
	// Child is a span without a profile of its own. It is listed with its root only.
	Child bool `json:"child,omitempty"`
}

// End returns when the span ended, in nanoseconds since 1970.
func (e *Ended) End() int64 { return e.Start + e.Duration }

// bytes is about what a span takes that waits for the disk.
func (e *Ended) bytes() int64 {
	return 256 + int64(len(e.Name)+len(e.Service)+len(e.Status)+len(e.Attributes))
}

// record is a span as a segment keeps it.
type record struct {
	id, parent      ident.Key
	trace           trace.TraceID
	start, duration int64
	// texts of the spans
	name, service, status, attributes uint32
	err, localRoot, child             bool
	earlier                           bool  // in the kept segment
	kind                              uint8 // a trace.SpanKind
}

func (r *record) end() int64 { return r.start + r.duration }

// NameTotal is the number of spans of one name that ended, and their times. An answer also has
// the CPU time of their rows, and the span_name of some of them, "" without rows.
type NameTotal struct {
	Service, Name         string
	Spans, Errors         int64
	Duration, MaxDuration int64
	Label                 string
	CPU, Samples          int64
}

const (
	// maxNames and maxNameBytes bound the names that a segment counts. The others count as
	// otherName.
	maxNames     = 1000
	maxNameBytes = 64 << 10
	otherName    = "other"
	// maxChildren bounds the children of one trace.
	maxChildren = 64
)

// spans are the spans that ended in a segment, and counts of all by name. Unlike the rest
// of a segment, records can be dropped before it is.
type spans struct {
	list []record // sorted by id in a sealed segment
	// byID has the places of the first records in list, as many as were asked for. indexed is
	// their number.
	byID    map[ident.Key]uint32
	indexed int
	// sampled has the number of samples of each id, nil once the segment is sealed.
	sampled map[ident.Key]int64
	// texts are the texts of the records. They are apart, because records can be dropped.
	texts  texts
	totals []NameTotal
	// places has the place of each name in totals. children counts by trace. Both are nil
	// once the segment is sealed.
	places   map[nameKey]int
	children map[trace.TraceID]uint8
	names    int64 // memory of the names in totals
	// evicted is the number of records that were dropped, listed the number of records
	// that are no children. earlier is the number of these that have it set.
	evicted         int64
	listed, earlier int
	// nested is set if spans with a profile were below others.
	nested bool
}

type nameKey struct{ service, name string }

func newSpans() spans { return spans{texts: newTexts(), sampled: make(map[ident.Key]int64)} }

// add appends a span. It returns false for a child that exceeds the number of its trace.
func (s *spans) add(e *Ended) bool {
	if e.Child {
		if s.children == nil {
			s.children = make(map[trace.TraceID]uint8)
		}
		if s.children[e.Trace] == maxChildren {
			return false
		}
		s.children[e.Trace]++
	}
	if !e.Child {
		s.count(e)
		s.listed++
		s.nested = s.nested || !e.LocalRoot
	}
	s.list = append(s.list, record{
		id: e.ID, parent: e.Parent, trace: e.Trace, start: e.Start, duration: e.Duration,
		name: s.texts.add(e.Name), service: s.texts.add(e.Service),
		status: s.texts.add(e.Status), attributes: s.texts.add(e.Attributes),
		err: e.Err, localRoot: e.LocalRoot, child: e.Child, kind: uint8(e.Kind),
	})
	return true
}

// count adds a span to the total of its name. Spans that sampling leaves out count too.
func (s *spans) count(e *Ended) {
	key := nameKey{e.Service, e.Name}
	at, ok := s.places[key]
	if !ok && (len(s.places) >= maxNames || s.names >= maxNameBytes) {
		key.name = otherName
		at, ok = s.places[key]
	}
	if !ok {
		if s.places == nil {
			s.places = make(map[nameKey]int)
		}
		at, key.name = len(s.totals), strings.Clone(key.name) // which may be the start of a long one
		s.places[key] = at
		s.totals = append(s.totals, NameTotal{Service: key.service, Name: key.name})
		s.names += memory.Alloc(int64(len(key.service))) + memory.Alloc(int64(len(key.name)))
	}
	t := &s.totals[at]
	t.Spans++
	t.Duration += e.Duration
	t.MaxDuration = max(t.MaxDuration, e.Duration)
	if e.Err {
		t.Errors++
	}
}

// dropHalf drops half of the records, of each class the oldest. Spans without samples, error
// or rank are dropped first, spans with samples due later. The first ranks stay longest. It
// returns the ids with samples.
func (s *spans) dropHalf(profiled int64, keys *attributes.Keys) (sampled []ident.Key) {
	lists, first := make(rankings), make(map[ident.Key]bool)
	lists.add(s, keys, make(map[nameKey]int), func(r *record) int64 { return s.sampled[r.id] })
	for _, list := range lists {
		for _, r := range list[:min(len(list), firstRanks)] {
			first[r.id] = true
		}
	}
	var classes [5][]int
	for i := range s.list {
		class := 0
		switch r := &s.list[i]; {
		case first[r.id]:
			class = 4
		case r.end() > profiled: // its samples are due
			class = 3
		case r.err:
			class = 2
		case s.sampled[r.id] > 0:
			class = 1
		}
		classes[class] = append(classes[class], i)
	}
	drop := make([]bool, len(s.list))
	for _, i := range slices.Concat(classes[:]...)[:(len(s.list)+1)/2] {
		drop[i] = true
		if id := s.list[i].id; s.sampled[id] > 0 {
			sampled = append(sampled, id)
		}
	}
	// Copies keep their records. Texts are removed if they take most of the memory.
	old, texts := s.list, s.texts.list
	s.list, s.children = make([]record, 0, len(old)*3/4), nil
	s.byID, s.indexed = nil, 0
	many := s.texts.bytes() > memory.Slice(old)/2
	if many {
		s.texts = newTexts()
	}
	for i := range old {
		r := old[i]
		if drop[i] {
			if !r.child {
				s.evicted++
				s.listed--
			}
			continue
		}
		if many {
			for _, n := range []*uint32{&r.name, &r.service, &r.status, &r.attributes} {
				*n = s.texts.add(texts[*n])
			}
		}
		s.list = append(s.list, r)
	}
	return sampled
}

// ended returns a record as it was added.
func (s *spans) ended(r *record) Ended {
	return Ended{
		ID: r.id, Parent: r.parent, Trace: r.trace, Start: r.start, Duration: r.duration,
		Name: s.texts.list[r.name], Service: s.texts.list[r.service], Status: s.texts.list[r.status], Attributes: s.texts.list[r.attributes],
		Err: r.err, LocalRoot: r.localRoot, Child: r.child, Kind: trace.SpanKind(r.kind),
	}
}

// at returns the place of the last record of an id in the open segment.
func (s *spans) at(id ident.Key) (int, bool) {
	if s.byID == nil {
		s.byID = make(map[ident.Key]uint32, len(s.list))
	}
	for ; s.indexed < len(s.list); s.indexed++ {
		s.byID[s.list[s.indexed].id] = uint32(s.indexed)
	}
	i, ok := s.byID[id]
	return int(i), ok
}

// find returns the record of an id in a sealed segment, nil if absent.
func (s *spans) find(id ident.Key) *record {
	i, ok := slices.BinarySearchFunc(s.list, id, func(r record, id ident.Key) int { return cmp.Compare(r.id, id) })
	if !ok {
		return nil
	}
	return &s.list[i]
}

// snapshot returns a copy for readers. Totals change in place, and so they are copied.
func (s *spans) snapshot() spans {
	c := *s
	c.texts.index, c.places, c.children, c.sampled, c.byID = nil, nil, nil, nil, nil
	c.totals = slices.Clone(s.totals)
	return c
}

func (s *spans) seal() {
	s.sort()
	s.texts.seal()
}

// sort sorts a copy of the records by id.
func (s *spans) sort() {
	order := make([]ranked, len(s.list)) // by id, then by place: records are large
	for i := range s.list {
		order[i] = ranked{s.list[i].id, int64(i)}
	}
	slices.SortFunc(order, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.value, b.value)) })
	list := make([]record, len(order))
	for i := range order {
		list[i] = s.list[order[i].value]
	}
	s.list = list
}

// bytes returns the memory of the records and totals.
func (s *spans) bytes() int64 {
	const total, key, child = 96, memory.String*2 + 8, 17
	return memory.Slice(s.list) + s.texts.bytes() + memory.Alloc(total*int64(cap(s.totals))) + s.names + memory.Map(len(s.places), key) + memory.Map(len(s.children), child)
}
