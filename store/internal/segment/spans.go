// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

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
	// Unlisted spans only count by name.
	Unlisted bool `json:"-"`
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

// NameTotal is the number of spans of one name that ended in a segment, and their times.
type NameTotal struct {
	Service, Name         string
	Spans, Errors         int64
	Duration, MaxDuration int64
}

const (
	// maxNames and maxNameBytes bound the names that a segment counts. The others count as
	// otherName.
	maxNames     = 1000
	maxNameBytes = 64 << 10
	// maxSlowest bounds the names with slowest spans in the open segment.
	maxSlowest = 128
	otherName  = "other"
	// maxChildren bounds the children of one trace.
	maxChildren = 64
)

// spans are the spans that ended in a segment, and counts of all by name. Unlike the rest
// of a segment, records can be dropped before it is.
type spans struct {
	list []record // sorted by id in a sealed segment
	// marks has what only the writer uses of each record, nil once the segment is sealed.
	marks []mark
	// byID has the places of the first records in list, as many as were asked for. indexed is
	// their number.
	byID    map[ident.Key]uint32
	indexed int
	// early has the samples of ids without a record. most has the greatest numbers of
	// samples by the place of a name.
	early map[ident.Key]uint32
	most  [][firstRanks]uint32
	// texts are the texts of the records. They are apart, because records can be dropped.
	texts  texts
	totals []NameTotal
	// places has the place of each name in totals. children counts by trace. Both are nil
	// once the segment is sealed.
	places   map[nameKey]int
	children map[trace.TraceID]uint8
	names    int64 // memory of the names in totals
	// slowest is of the first names in totals, nil once the segment is sealed.
	slowest []slowest
	// evicted is the number of records that were dropped, listed the number of records
	// that are no children. earlier is the number of these that have it set.
	evicted         int64
	listed, earlier int
	// nested is set if spans with a profile were below others.
	nested bool
}

type nameKey struct{ service, name string }

// slowest are the slowest spans of a name in each latency band. The last list has the newest
// errors by their end.
type slowest [11][firstRanks]ranked

const newestErrors = len(slowest{}) - 1

func (s *slowest) enter(list int, r ranked) {
	of := &s[list]
	for i := range of {
		if r.value > of[i].value { // of equal ones the oldest, as in rankings
			of[i], r = r, of[i]
		}
	}
}

func newSpans() spans { return spans{texts: newTexts(), early: make(map[ident.Key]uint32)} }

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
	m := mark{name: -1, samples: s.early[e.ID]}
	if !e.Child {
		m.name = int32(s.count(e))
		s.listed++
		s.nested = s.nested || !e.LocalRoot
	}
	s.marks = append(s.marks, m)
	s.list = append(s.list, record{
		id: e.ID, parent: e.Parent, trace: e.Trace, start: e.Start, duration: e.Duration,
		name: s.texts.add(e.Name), service: s.texts.add(e.Service),
		status: s.texts.add(e.Status), attributes: s.texts.add(e.Attributes),
		err: e.Err, localRoot: e.LocalRoot, child: e.Child, kind: uint8(e.Kind),
	})
	return true
}

// mark is the place of a span's name in totals, -1 for a child, and its number of samples.
type mark struct {
	name    int32
	samples uint32
}

// count adds a span to the total of its name, and returns its place. Spans that sampling
// leaves out count too.
func (s *spans) count(e *Ended) (at int) {
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
	if at == len(s.slowest) && at < maxSlowest {
		s.slowest = append(s.slowest, slowest{})
	}
	if at < len(s.slowest) && !e.Unlisted {
		s.slowest[at].enter(band(e.Duration), ranked{e.ID, e.Duration})
		if e.Err {
			s.slowest[at].enter(newestErrors, ranked{e.ID, e.End()})
		}
	}
	t := &s.totals[at]
	t.Spans++
	t.Duration += e.Duration
	t.MaxDuration = max(t.MaxDuration, e.Duration)
	if e.Err {
		t.Errors++
	}
	return at
}

// class returns how long a record stays if there is no room: the higher, the longer.
func (s *spans) class(i int, profiled int64) uint8 {
	r, m := &s.list[i], s.marks[i]
	has := func(list int, value int64) bool {
		return m.name >= 0 && int(m.name) < len(s.slowest) && slices.Contains(s.slowest[m.name][list][:], ranked{r.id, value})
	}
	switch {
	case has(band(r.duration), r.duration), r.err && has(newestErrors, r.end()): // few of each name
		return 4
	case int(m.name) >= maxSlowest && s.totals[m.name].Spans <= firstRanks: // all spans of a name that is rare
		return 4
	case r.end() > profiled: // its samples are due
		return 3
	case m.name >= 0 && int(m.name) < len(s.most) && m.samples > 0 && m.samples >= s.most[m.name][firstRanks-1]:
		return 3
	case r.err:
		return 2
	case m.samples > 0:
		return 1
	}
	return 0
}

// dropHalf drops half of the records, of each class the oldest. Spans without samples, error
// or rank are dropped first, spans with samples due later. The slowest and the newest errors of
// each name stay longest. It returns the ids with samples.
func (s *spans) dropHalf(profiled int64) (sampled []ident.Key) {
	classes := make([]uint8, len(s.list))
	for i := range classes {
		classes[i] = s.class(i, profiled)
	}
	drop, left := make([]bool, len(s.list)), (len(s.list)+1)/2
	for class := range uint8(5) {
		for i := 0; i < len(classes) && left > 0; i++ {
			if classes[i] == class {
				drop[i] = true
				left--
				if s.marks[i].samples > 0 {
					sampled = append(sampled, s.list[i].id)
				}
			}
		}
	}
	s.drop(drop)
	return sampled
}

// drop removes the records with the given places. Copies keep theirs. Their texts are removed
// if they take most of the memory.
func (s *spans) drop(which []bool) {
	old, marks, texts := s.list, s.marks, s.texts.list
	s.list, s.marks, s.children = make([]record, 0, len(old)*3/4), s.marks[:0], nil
	s.byID, s.indexed = nil, 0
	many := s.texts.bytes() > memory.Slice(old)/2
	if many {
		s.texts = newTexts()
	}
	for i := range old {
		r := old[i]
		if which[i] {
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
		s.list, s.marks = append(s.list, r), append(s.marks, marks[i])
	}
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
	c.texts.index, c.places, c.children, c.slowest, c.marks, c.early, c.byID = nil, nil, nil, nil, nil, nil, nil
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
	const total, key, child = 64, memory.String*2 + 8, 17
	return memory.Slice(s.list) + memory.Slice(s.marks) + s.texts.bytes() + memory.Alloc(total*int64(cap(s.totals))) + s.names + memory.Slice(s.slowest) +
		memory.Map(len(s.places), key) + memory.Map(len(s.children), child)
}
