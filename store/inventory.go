// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Stats says how full a Store is, what it has taken in and what it lost. All
// counts are cumulative except those that say "held".
type Stats struct {
	// Bytes is the memory held, as far as the store can tell: windows,
	// spans, the tables they share and the indexes. MaxBytes is its bound.
	Bytes, MaxBytes int64

	// SpansEnded is the number of spans that were recorded: local roots,
	// and spans with a profile of their own.
	SpansEnded int64
	// SpansWithSamples is the number of spans, evicted ones and ones still
	// running included, that had at least one CPU sample. A span whose
	// summary the store never gets may be counted again in a later window.
	SpansWithSamples int64
	// Spans is the number of ended spans held, Windows that of windows held
	// as a whole.
	Spans, Windows int
	// SpansRunning is the number of local roots that have not ended.
	SpansRunning int
	// SpansNotKept is the number of spans that ended and that WithMinDuration
	// or WithSampling does not keep.
	SpansNotKept int64
	// SpansEvicted is the number of spans that made room for newer ones,
	// SpansEvictedEarly of those of them whose CPU samples had not come yet: more
	// spans end in the time of two profiles than the store has room for, and the
	// span with most CPU time may be missing from lists. The slowest of these come
	// back with their samples; see Loss.
	SpansEvicted, SpansEvictedEarly int64
	// SpansForgotten is the number of local roots that made room while they ran.
	// They are spans again when they end.
	SpansForgotten int64
	// SpansLosingSamples is the number of spans without a record, because they
	// ran and were no local roots or had made room, whose samples made room within
	// minutes, and CPUTimeLost what these had: it is missing from the spans and from
	// those above them. NameTotals counts it.
	SpansLosingSamples int64
	CPUTimeLost        time.Duration

	// AttributesLost is the number of children, not recorded themselves, whose
	// attributes reached no record: too many spans were running, or the child ended
	// after the spans above it.
	AttributesLost int64
	// AttributesUnseen is the number of attributes and events of spans that were not
	// looked at: of more than 256 attributes or events of a span, or attributes of an
	// event, the first 128 and the last 128 are.
	AttributesUnseen int64

	// WindowsReceived is the number of profiles that were taken in,
	// WindowsEvicted of those that made room for newer ones.
	WindowsReceived, WindowsEvicted int64
	// ParseErrors is the number of profiles that were not valid pprof,
	// WindowsRefused that of profiles that were not taken in as they would
	// not fit into an empty store.
	ParseErrors, WindowsRefused int64

	// CPUTime is the time of all CPU samples taken in, CPUTimeLabelled of
	// those that carry a profile_id, a span_id or a span_name.
	CPUTime, CPUTimeLabelled time.Duration

	// Directory is about the files of WithDirectory, and what they have of earlier
	// processes.
	Directory DirectoryStats
}

// EventType says what happened to a window.
type EventType string

// The types of an Event.
const (
	// EventReceived says that a window was taken in.
	EventReceived EventType = "received"
	// EventRefused says that a profile was not taken in, as Text tells.
	EventRefused EventType = "refused"
	// EventEvicted says that a window made room for newer ones.
	EventEvicted EventType = "evicted"
)

// Event is an entry of the store's log.
type Event struct {
	// Time is when it happened.
	Time time.Time
	Type EventType
	// Kind and Service are those of the window.
	Kind    exporter.Kind
	Service string
	// Samples is the number of samples taken, Bytes the memory that the
	// window takes by itself. Both are 0 for a profile that was refused.
	Samples, Bytes int64
	// Text is the error of a profile that was refused, cut to 1024 bytes.
	Text string
}

// maxEvents is how many events are remembered.
const maxEvents = 512

const eventSize = int64(unsafe.Sizeof(Event{}))

// eventLog is a ring of the newest events.
type eventLog struct {
	mu     sync.Mutex
	events []Event
	// shared says that a view has the events: none may be overwritten.
	shared bool
	// next is the place of the next event once the ring is full.
	next int
	// bytes is the memory of the texts.
	texts int64
}

func (l *eventLog) add(e Event) {
	e.Time = time.Now().Round(0)
	e.Text = strings.Clone(ident.Cut(e.Text))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts += e.cost()
	if len(l.events) < maxEvents {
		l.events = append(l.events, e)
		return
	}
	if l.shared {
		l.events, l.shared = slices.Clone(l.events), false
	}
	l.texts -= l.events[l.next].cost()
	l.events[l.next] = e
	l.next = (l.next + 1) % maxEvents
}

// share returns the events, which nobody may change, and the place of the oldest.
func (l *eventLog) share() (events []Event, oldest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = true
	return slices.Clip(l.events), l.next
}

func (l *eventLog) bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return memory.Alloc(int64(cap(l.events))*int64(unsafe.Sizeof(Event{}))) + l.texts
}

// cost is the memory of an event's texts.
func (e *Event) cost() int64 {
	return memory.Alloc(int64(len(e.Text))) + memory.Alloc(int64(len(e.Service)))
}

// WindowInfo is what the store knows of a window that it holds: one profile as
// it was taken in.
type WindowInfo struct {
	Kind exporter.Kind
	// Service and ServiceVersion are service.name and service.version of the
	// profile's resource.
	Service, ServiceVersion string
	// Start is when the window began, Duration how long it went on; 0 for a
	// snapshot.
	Start    time.Time
	Duration time.Duration
	// Samples is the number of samples taken, Bytes the memory of the window
	// without what it shares with others.
	Samples, Bytes int64
	// Kernel says that the profile has a mapping of the kernel: an eBPF agent of the
	// host has taken it, whatever its kind.
	Kernel bool
	// Earlier is the earlier process that has taken the profile, nil for this one; see
	// WithDirectory.
	Earlier *Process
}

func (v *view) Windows(q WindowQuery) ([]WindowInfo, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	var infos []WindowInfo
	for _, w := range v.windows {
		if q.Kind != "" && q.Kind != w.Kind || q.Service != "" && q.Service != w.Service || !w.Overlaps(q.From, q.Until) {
			continue
		}
		infos = append(infos, WindowInfo{
			Kind:           w.Kind,
			Service:        w.Service,
			ServiceVersion: w.Version,
			Start:          w.Start,
			Duration:       w.End.Sub(w.Start),
			Samples:        w.Count,
			Bytes:          w.bytes,
			Earlier:        w.process,
			Kernel:         slices.ContainsFunc(w.mappings, func(m *Mapping) bool { return m.File == exporter.KernelMapping }),
		})
	}
	slices.SortStableFunc(infos, func(a, b WindowInfo) int { return a.Start.Compare(b.Start) })
	return infos, nil
}

// WindowQuery selects windows. The zero value selects all.
type WindowQuery struct {
	// Kind and Service, if not empty, select the windows of one kind and of
	// one service.name.
	Kind    exporter.Kind
	Service string
	// From and Until select the windows that overlap [From, Until); a zero
	// time leaves that side open.
	From, Until time.Time
}

// KindTotal says that profiles of a kind have samples that a query selects.
type KindTotal struct {
	Kind exporter.Kind
	// Samples is their number, Windows that of the windows with any of them.
	Samples int64
	Windows int
}

func (v *view) Kinds(q Query) ([]KindTotal, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	matches, err := v.matches(&q, "")
	if err != nil {
		return nil, err
	}
	var totals []KindTotal
	for i := range matches {
		m := &matches[i]
		samples := m.Count()
		if samples == 0 {
			continue
		}
		i := slices.IndexFunc(totals, func(t KindTotal) bool { return t.Kind == m.window.Kind })
		if i < 0 {
			i = len(totals)
			totals = append(totals, KindTotal{Kind: m.window.Kind})
		}
		totals[i].Samples += samples
		totals[i].Windows++
	}
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(totals, func(a, b KindTotal) int { return cmp.Compare(a.Kind, b.Kind) })
	return totals, nil
}
