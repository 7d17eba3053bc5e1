// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

const (
	// minSegment is the least size of a segment, maxSegments how many a room has.
	minSegment  = 2 << 20
	maxSegments = 16
	// share is the part of a segment that spans take at most. Profiles without labels
	// have another one.
	share = 4
)

// ErrTooLarge is the error of a profile that alone exceeds half of the bytes.
var ErrTooLarge = errors.New("the profile exceeds half of the store")

// ErrInvalid is the cause of errors about profiles that are not valid pprof.
var ErrInvalid = errors.New("invalid profile")

// Counts are what a room received and dropped since it was made.
type Counts struct {
	SpansEnded, SpansEvicted, SpansUnlisted, ChildrenDropped     int64
	WindowsReceived, WindowsEvicted, ParseErrors, WindowsRefused int64
	// CPU is the CPU time of all profiles in nanoseconds. Labelled is the part of it with
	// an id or a span name.
	CPU, Labelled int64
	// Unended is the number of ids that were dropped with their rows before their span
	// ended.
	Unended int64
}

// Room holds the segments of a store: some sealed ones, and one that is open. It is safe
// for concurrent use.
type Room struct {
	mu sync.Mutex
	// maxBytes bounds all segments, target is the size of one.
	maxBytes, target int64
	sealed           []*Segment // the oldest first
	open             *Segment
	kept             *Segment         // nil if nothing is kept
	keys             *attributes.Keys // nil if no attributes are kept
	counts           Counts
	// profiled is the end of the latest CPU window, in nanoseconds since 1970.
	profiled int64
	// dropped has the end of the last CPU window that was dropped, by service.
	dropped map[string]int64
	// last is the newest view, nil after a change.
	last       *View
	generation uint64
	disk       *disk // nil if nothing is written
	// unsaved are the spans since the last window, if there is a disk.
	unsaved []Ended
}

// NewRoom returns an empty room of at most maxBytes. keys decode the attributes of spans.
func NewRoom(maxBytes int64, keys *attributes.Keys) *Room {
	return &Room{keys: keys, maxBytes: maxBytes, target: max(minSegment, maxBytes/maxSegments), open: newSegment(), dropped: make(map[string]int64)}
}

// Export adds a profile. The error has the cause ErrInvalid or ErrTooLarge.
func (r *Room) Export(p *exporter.Profile) error {
	parsed, err := p.Parsed() // before the lock, because it takes the longest
	if err == nil && parsed == nil {
		err = errors.New("no profile")
	}
	if err == nil {
		err = parsed.CheckValid()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed()
	if err != nil {
		r.counts.ParseErrors++
		return fmt.Errorf("%w: %s: %w", ErrInvalid, p.Kind(), err)
	}
	w := r.add(p, parsed)
	if w == nil {
		r.counts.WindowsRefused++
		return fmt.Errorf("%w: %s with %d samples, of %d bytes", ErrTooLarge, p.Kind(), len(parsed.Sample), r.maxBytes)
	}
	r.save(p)
	r.counts.WindowsReceived++
	r.counts.CPU += w.cpu
	r.counts.Labelled += w.labelled
	// The indexes of the open segment are as large as the rest.
	limit := r.target * 2
	if w.kind == exporter.KindCPU {
		r.profiled = max(r.profiled, w.end)
		limit = r.target * 7 / 4
	}
	r.bound()
	if r.open.bytes() >= limit {
		r.seal()
	}
	r.trim()
	return nil
}

// save hands a profile and the spans before it to the disk.
func (r *Room) save(p *exporter.Profile) {
	if r.disk != nil && (p != nil || len(r.unsaved) > 0) {
		r.disk.add(job{profile: p, spans: r.unsaved})
		r.unsaved = nil
	}
}

// add adds a window to the open segment, nil if it is too large. A profile that may be
// large gets a segment of its own, which can be discarded.
func (r *Room) add(p *exporter.Profile, parsed *profile.Profile) *window {
	if estimate(parsed) <= r.maxBytes/4 {
		w := r.open.build(p, parsed, math.MaxInt64)
		r.open.addWindow(w)
		return w
	}
	large := newSegment()
	w := large.build(p, parsed, r.maxBytes/2)
	if w == nil || large.bytes()+w.size > r.maxBytes/2 {
		return nil
	}
	large.addWindow(w)
	r.seal()
	r.open = large
	return w
}

// estimate returns an upper bound of the memory of a profile, except indexes.
func estimate(p *profile.Profile) int64 {
	n := 64 * (len(p.Sample) + len(p.Location) + len(p.Function))
	for _, f := range p.Function {
		n += len(f.Name) + len(f.SystemName) + len(f.Filename)
	}
	for _, s := range p.Sample {
		n += 8 * (len(s.Location) + len(s.Value))
		for key, values := range s.Label {
			n += len(key)
			for _, value := range values {
				n += len(value) + 48
			}
		}
	}
	return int64(n)
}

// End adds spans that have ended.
func (r *Room) End(ended ...Ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed()
	for i := range ended {
		e := &ended[i]
		if !e.Child {
			r.counts.SpansEnded++
		}
		if e.Unlisted {
			if !e.Child {
				r.open.spans.count(e)
				r.counts.SpansUnlisted++
			}
			continue
		}
		if !r.open.spans.add(e) {
			r.counts.ChildrenDropped++
			continue
		}
		if r.disk != nil {
			if r.unsaved = append(r.unsaved, *e); len(r.unsaved) == maxUnsaved {
				r.save(nil)
			}
		}
		if i%64 == 63 {
			r.bound()
		}
	}
	r.bound()
	r.trim()
}

// changed discards the newest view.
func (r *Room) changed() {
	r.last = nil
	r.generation++
}

// bound holds spans, and profiles without labels, to their shares of the open segment.
func (r *Room) bound() {
	limit := r.target / share
	if r.open.spans.bytes() > limit {
		r.dropSpans()
	}
	var bytes int64
	newest := make(map[exporter.Kind]*window)
	for _, w := range r.open.windows {
		if w.unlabelled() {
			bytes += w.size
			newest[w.kind] = w
		}
	}
	if bytes <= limit {
		return
	}
	r.open.dropWindows(func(w *window) bool {
		if bytes <= limit || !w.unlabelled() || newest[w.kind] == w {
			return false
		}
		bytes -= w.size
		r.counts.WindowsEvicted++
		return true
	})
}

// dropSpans drops half of the spans of the open segment, of each class the oldest. Spans
// without samples, error or rank are dropped first, but not before their samples are due.
func (r *Room) dropSpans() {
	s := &r.open.spans
	places := make(map[ident.Key]int, len(s.list))
	classes := make([]uint8, len(s.list))
	for i := range s.list {
		e := &s.list[i]
		places[e.id] = i
		switch {
		case e.end() > r.profiled:
			classes[i] = 3
		case e.err:
			classes[i] = 2
		}
	}
	raise := func(id ident.Key, class uint8) {
		if i, ok := places[id]; ok {
			classes[i] = max(classes[i], class)
		}
	}
	for g := range r.open.groups.ids {
		profile, span := r.open.idsIn(uint32(g))
		raise(profile, 1)
		raise(span, 1)
	}
	for i := range s.slowest {
		for _, band := range s.slowest[i] {
			for _, of := range band {
				raise(of.id, 3)
			}
		}
	}
	drop, left := make([]bool, len(s.list)), (len(s.list)+1)/2
	for class := range uint8(4) {
		for i := 0; i < len(classes) && left > 0; i++ {
			if classes[i] == class {
				drop[i] = true
				left--
			}
		}
	}
	before := s.evicted
	s.drop(drop)
	r.counts.SpansEvicted += s.evicted - before
}

// seal seals the open segment, and opens the next one.
func (r *Room) seal() {
	if len(r.open.windows) == 0 && len(r.open.spans.list) == 0 {
		return
	}
	r.sealed = append(slices.Clip(r.sealed), r.open.seal(r.sealed))
	r.open = newSegment()
	if r.disk != nil {
		r.disk.add(job{sealed: true})
	}
}

// trim drops the oldest segments until the rest fits.
func (r *Room) trim() {
	for len(r.sealed) > 0 && r.bytes() > r.maxBytes {
		oldest := r.sealed[0]
		r.sealed = slices.Clone(r.sealed[1:])
		for _, w := range oldest.windows {
			r.counts.WindowsEvicted++
			if w.kind == exporter.KindCPU {
				r.dropped[w.service] = max(r.dropped[w.service], w.end)
			}
		}
		r.keep(oldest)
	}
}

// bytes returns the memory of all segments.
func (r *Room) bytes() int64 {
	n := r.open.bytes()
	for _, s := range r.sealed {
		n += s.bytes()
	}
	if r.kept != nil {
		n += r.kept.bytes()
	}
	return n
}

// Bytes returns the memory of all segments, as far as it is counted.
func (r *Room) Bytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes()
}

// Lookup returns the name and trace of a span that has ended.
func (r *Room) Lookup(id ident.Key) (Ended, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range slices.Backward(r.open.spans.list) {
		if e := &r.open.spans.list[i]; e.id == id && !e.child {
			return r.open.spans.ended(e), true
		}
	}
	for _, s := range slices.Backward(append(slices.Clip([]*Segment{r.kept}), r.sealed...)) {
		if s == nil {
			continue
		}
		if e := s.spans.find(id); e != nil && !e.child {
			return s.spans.ended(e), true
		}
	}
	return Ended{}, false
}
