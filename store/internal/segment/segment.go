// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package segment stores profiles and spans in segments. A segment is a stretch of time
// with texts, stacks, rows and spans of its own, all append-only. Once it is sealed it
// never changes. It is dropped as a whole, and so it has no reference counts.
//
// intake.go takes spans, room.go adds them and profiles to the open segment. kept.go chooses
// what outlives its segment. segment.go, code.go and window.go are a segment.
// spans.go has its spans, index.go its sums by id and the ranks of spans. samples.go and
// sum.go sum rows, matcher.go selects them. list.go lists spans and tree.go what is above and below, both in a View, which
// view.go opens. disk.go writes, directory.go finds and restore.go reads files.
package segment

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spanprof/spanprof/store/internal/memory"

	"github.com/spanprof/spanprof/store/internal/ident"

	"go.opentelemetry.io/otel/sdk/resource"
)

// Segment is a stretch of time. Its writer holds the lock of the Room. A reader gets a copy
// of the struct. Later appends do not change what that copy has.
type Segment struct {
	texts   texts
	code    code
	groups  table[group]
	sets    table[link[label]]
	windows []*window
	spans   spans
	// earlier is set for a segment that was read from the files of an earlier process.
	earlier bool
	// index has the sums by id of a sealed segment.
	index *index
	// owner has the service of the process.
	owner *owner
	// rows is the memory of the windows.
	rows int64
	// from and until bound the windows. Both are 0 if there are none.
	from, until int64
}

// own returns how many of the listed spans are of this process.
func (s *Segment) own() int {
	if s.earlier {
		return 0
	}
	return s.spans.listed - s.spans.earlier
}

func newSegment() *Segment {
	return &Segment{texts: newTexts(), code: newCode(), sets: newTable[link[label]](), spans: newSpans()}
}

// bytes returns the memory of the segment.
func (s *Segment) bytes() int64 {
	n := s.texts.bytes() + s.code.bytes() + s.groups.bytes() + s.sets.bytes() + memory.Slice(s.windows) + s.rows + s.spans.bytes() + memory.Map(len(s.spans.sampled), 16) + memory.Map(len(s.spans.byID), 12)
	if s.index != nil {
		n += s.index.bytes()
	}
	return n
}

// addWindow appends a window.
func (s *Segment) addWindow(w *window) {
	if len(s.windows) == 0 {
		s.from, s.until = w.start, w.end
	}
	s.from, s.until = min(s.from, w.start), max(s.until, w.end)
	s.windows = append(s.windows, w)
	s.rows += w.size
}

// snapshot returns a copy for readers, which must not use its maps.
func (s *Segment) snapshot() *Segment {
	c := *s
	c.spans = s.spans.snapshot()
	return &c
}

// seal returns the segment in its final form: as large as it must be, with its sums.
// before are the segments before it.
func (s *Segment) seal(before []*Segment) *Segment {
	c := s.snapshot()
	c.texts.seal()
	c.code.seal()
	c.groups.seal()
	c.sets.seal()
	c.spans.seal()
	c.windows = slices.Clip(slices.Clone(c.windows))
	c.index = c.sum(before, true)
	return c
}

// table numbers the different values of a segment from 0 on. It is append-only. A reader
// that copied list sees values that never change.
type table[V comparable] struct {
	list []V
	// index is nil once the segment is sealed.
	index map[V]uint32
}

// newTable returns a table in which no value has the number 0.
func newTable[V comparable]() table[V] { return table[V]{list: make([]V, 1)} }

// add returns the number of a value.
func (t *table[V]) add(v V) uint32 {
	n, ok := t.index[v]
	if !ok {
		n = uint32(len(t.list))
		if t.index == nil {
			t.index = make(map[V]uint32)
		}
		t.index[v] = n
		t.list = append(t.list, v)
	}
	return n
}

// seal drops what only new values need.
func (t *table[V]) seal() {
	t.index = nil
	t.list = append(make([]V, 0, len(t.list)), t.list...)
}

// bytes returns the memory of the list and the index.
func (t *table[V]) bytes() int64 {
	if len(t.list) == 0 {
		return 0
	}
	return memory.Slice(t.list) + memory.Map(len(t.index), memory.Slice(t.list[:1:1])+4)
}

// texts numbers texts. The number 0 is the empty text.
type texts struct {
	table[string]
	// content is the memory of the texts themselves.
	content int64
}

func newTexts() texts { return texts{table: newTable[string]()} }

// add returns the number of a text. It keeps a copy, because s may be part of a whole file.
func (t *texts) add(s string) uint32 {
	if s == "" {
		return 0
	}
	if n, ok := t.index[s]; ok {
		return n
	}
	t.content += memory.Alloc(int64(len(s)))
	return t.table.add(strings.Clone(s))
}

func (t *texts) bytes() int64 { return t.content + t.table.bytes() }

// link is the first value of a list. The list without it has a lower number, 0 for none.
type link[V comparable] struct {
	rest  uint32
	value V
}

// all returns the values of a list.
func all[V comparable](t *table[link[V]], list uint32) iter.Seq[V] {
	return func(yield func(V) bool) {
		for ; list != 0 && yield(t.list[list].value); list = t.list[list].rest {
		}
	}
}

// owner is the service of a process, which is unknown until its first span ends.
type owner struct{ known atomic.Pointer[[2]string] }

// set sets the service and its version. The first one with a name stays.
func (o *owner) set(service, version string) (changed bool) {
	of := o.known.Load()
	if changed = of == nil || of[0] == "" || of[0] == noService(); changed {
		o.known.Store(&[2]string{service, version})
	}
	return changed
}

// noService is the service of a program without a name, as the SDK calls it.
var noService = sync.OnceValue(func() string { return ident.Service(resource.Default()) })

// Coverage is how much of a span's time CPU profiles cover.
type Coverage int

// The coverages. Evicted means that samples of the span may have been evicted, or that
// nothing is known about its time.
const (
	Whole Coverage = iota
	Partial
	None
	Evicted
)

const (
	// maxRotation is the longest time between two windows that is no gap. The runtime
	// takes 20 ms to write a profile, and up to 200 ms on macOS.
	maxRotation = int64(250e6)
	// maxOvertaken is how much earlier than another window one may end that arrives
	// after it: a profiler waits for a destination for that long.
	maxOvertaken = int64(60e9)
	maxPeriods   = 256
	maxServices  = 256
)

// period is a time in nanoseconds since 1970.
type period struct{ start, end int64 }

// profiled is when the CPU of a service was profiled.
type profiled struct {
	// until is the end of the latest window by the clock of the newest one.
	until int64
	// periods are sorted, with gaps of more than maxRotation. Before since they are
	// unknown.
	periods []period
	since   int64
}

type serviceKey struct {
	service string
	earlier bool
}

// profiledBy enters a CPU window.
func (r *Room) profiledBy(w *window, earlier bool) {
	key := serviceKey{w.service, earlier}
	p, ok := r.profiles[key]
	switch {
	case !ok && (earlier && len(r.profiles) >= maxServices || len(r.profiles) == 2*maxServices):
		return
	case !ok, !earlier && w.end < p.until-maxOvertaken: // the clock was set back
		p.until = w.end
	}
	p.until = max(p.until, w.end)
	if start, end := w.start, w.end; start < end {
		first, _ := slices.BinarySearchFunc(p.periods, start-maxRotation, func(q period, t int64) int { return cmp.Compare(q.end, t) })
		next := first
		for ; next < len(p.periods) && p.periods[next].start <= end+maxRotation; next++ {
			start, end = min(start, p.periods[next].start), max(end, p.periods[next].end)
		}
		p.periods = slices.Replace(slices.Clone(p.periods), first, next, period{start, end})
		if len(p.periods) > maxPeriods {
			p.since, p.periods = p.periods[0].end, p.periods[1:]
		}
	}
	r.profiles[key] = p
}

// Services returns the services of the CPU profiles of this process, sorted.
func (r *Room) Services() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for of := range r.profiles {
		if !of.earlier {
			names = append(names, of.service)
		}
	}
	slices.Sort(names)
	return names
}

// Coverage returns how much of a span's time was profiled, as far as profiles have arrived.
// complete is set if they have arrived for all of it, or never will.
func (v *View) Coverage(s *Span) (c Coverage, complete bool) {
	p, known := v.profiled(serviceKey{s.Service, s.Earlier})
	switch {
	case !known && s.Earlier:
		return Evicted, true
	case !known:
		return Whole, false
	}
	complete = s.Earlier || p.until >= s.End()
	start, end := s.Start, min(max(s.End(), s.Start+1), p.until)
	if end <= start {
		return Whole, complete
	}
	if start < p.since || !s.Earlier && !s.kept && start < v.Dropped[s.Service] && v.Unended+v.Lost > 0 {
		return Evicted, complete
	}
	covered := int64(0)
	for _, q := range p.periods {
		covered += max(0, min(end, q.end)-max(start, q.start))
	}
	switch covered {
	case end - start:
		return Whole, complete
	case 0:
		return None, complete
	}
	return Partial, complete
}

// profiled returns when a service was profiled. Without windows of its own, it is the service
// with the latest window.
func (v *View) profiled(of serviceKey) (p profiled, known bool) {
	p, known = v.profiles[of]
	for key, other := range v.profiles {
		if _, own := v.profiles[of]; !own && key.earlier == of.earlier && (!known || other.until > p.until) {
			p, known = other, true
		}
	}
	return p, known
}

// Until returns the end of the latest CPU window of a service of this process, 0 without any.
func (v *View) Until(service string) int64 {
	p, _ := v.profiled(serviceKey{service: service})
	return p.until
}
