// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Record is a copy of what the log has of a span.
type Record struct {
	Row
	Name *Name
	// Label is the span_name label of the newest samples that have one.
	Label  *Text
	Status string
	// Attributes are the telling attributes of the span, and of its children that
	// have no record, as package attributes writes them.
	Attributes *Text
	// Exact are the exact times of the span, nil for none.
	Exact *Exact
}

// Row is a record as the log keeps it: ids in binary, and places of its texts in tables.
// It has no pointers: the garbage collector would follow those of all rows in each cycle,
// which is an eighth of what the log costs a program that starts many spans.
type Row struct {
	TraceID          trace.TraceID
	SpanID, ParentID trace.SpanID
	// Start and Duration are in nanoseconds, Start since 1970.
	Start, Duration int64
	Samples

	// name, label, status, attributes and exact are what Record says, in the tables of
	// the log.
	name, label, status, attributes, exact ref
	// prev and next are the neighbours in the list.
	prev, next rowID
	// late is the place of a record among those that are in no index yet, from 1 on; 0
	// for others.
	late uint32
	list listID
	// places says where the record is among those that are kept for longer.
	places         places
	Err, LocalRoot bool
	// Missed says that CPU samples of the span may have gone with their
	// windows.
	Missed bool
	// Lost says what of the span had no room.
	Lost Lost
	// Earlier is the number of the earlier process that a restored span is of; 0 is
	// this process.
	Earlier uint8
	// saved is above 0 where TakeEnded has given the record as it is: for a restored
	// span 1 more than how much of its time its process has profiled.
	saved uint8
}

// EarlierCoverage says how much of the time of a restored span its process has profiled.
func (r *Row) EarlierCoverage() cputime.Held {
	if r.saved == 0 {
		return cputime.Gone
	}
	return cputime.Held(r.saved - 1)
}

// Lost is what of a span was lost as there was no room for it.
type Lost uint8

// What may be lost of a span.
const (
	// LostNothing: nothing that the log knows of.
	LostNothing Lost = iota
	// LostSamples: while the span ran, samples of spans that had no record went,
	// which may be its own or those of its descendants.
	LostSamples
	// LostSummary: its record made room before its samples came. What these do not
	// need, such as its status, is not known any more.
	LostSummary
)

// Samples is what the profiles say about one span.
type Samples struct {
	// CPU is the span's own CPU time, Below that of its descendants.
	CPU, Below time.Duration
	// CPUCount and WallCount are the numbers of samples, Held that of the
	// samples of all kinds in the windows held.
	CPUCount, WallCount, Held int64
}

// Running reports whether the span has not ended.
func (r *Row) Running() bool { return r.list == runningList }

// record returns a copy of a row with its texts.
func (l *Log) record(r *Row) Record {
	return Record{
		Row: *r, Name: l.nameOf(r), Label: l.labelOf(r), Status: l.statuses.at(r.status),
		Attributes: l.attributesOf(r), Exact: l.exacts.of.at(r.exact),
	}
}

func (l *Log) nameOf(r *Row) *Name { return l.nameRefs.at(r.name) }

func (l *Log) labelOf(r *Row) *Text { return l.textRefs.at(r.label) }

func (l *Log) attributesOf(r *Row) *Text { return l.textRefs.at(r.attributes) }

// setStatus gives a row without a status one.
func (l *Log) setStatus(r *Row, status string) {
	if status == "" {
		return
	}
	var grown int64
	r.status, grown = l.statuses.add(status)
	l.bytes += grown + statusCost(status)
}

func (l *Log) dropStatus(r *Row) {
	if r.status == 0 {
		return
	}
	l.bytes -= statusCost(l.statuses.at(r.status))
	l.bytes += l.statuses.remove(r.status)
	r.status = 0
}

// packTables gives the room back that names, texts and statuses left in their tables, most
// of which are gone after a burst of them. No row is on its way in or out.
func (l *Log) packTables() {
	names, n := l.nameRefs.pack()
	texts, t := l.textRefs.pack()
	statuses, s := l.statuses.pack()
	if names == nil && texts == nil && statuses == nil {
		return
	}
	l.bytes += n + t + s
	for i, name := range l.nameRefs.values {
		name.ref = ref(i + 1)
	}
	for i, text := range l.textRefs.values {
		text.ref = ref(i + 1)
	}
	for _, chunk := range l.chunks {
		for i := range chunk {
			r := &chunk[i]
			if names != nil {
				r.name = names[r.name]
			}
			if texts != nil {
				r.label, r.attributes = texts[r.label], texts[r.attributes]
			}
			if statuses != nil {
				r.status = statuses[r.status]
			}
		}
	}
}

// statusCost is the memory of a status without its place.
func statusCost(status string) int64 { return memory.Alloc(int64(len(status))) }

// Add adds other samples of the span.
func (s *Samples) Add(other Samples) {
	s.CPU += other.CPU
	s.Below += other.Below
	s.CPUCount += other.CPUCount
	s.WallCount += other.WallCount
	s.Held += other.Held
}
