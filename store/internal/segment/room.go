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
	// share is the part of a segment that spans take at most once the room fills. Profiles
	// without labels have another one.
	share = 4
)

// ErrTooLarge is the error of a profile that alone exceeds half of the bytes.
var ErrTooLarge = errors.New("the profile exceeds half of the store")

// Counts are what a room received and dropped since it was made.
type Counts struct {
	SpansEnded, SpansEvicted, SpansUnlisted, ChildrenDropped     int64
	WindowsReceived, WindowsEvicted, ParseErrors, WindowsRefused int64
	// CPU is the CPU time of all profiles in nanoseconds. Labelled is the part of it with
	// an id or a span name.
	CPU, Labelled int64
	// Unended is the number of ids that were dropped with their rows although their span
	// runs, or ended later. Lost is the number of others without a record.
	Unended, Lost int64
	// Unseen is the number of CPU samples of spans that do not run and have no record.
	Unseen int64
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
	keptPart         float64          // see keeper.part
	trimming         bool             // set while a kept segment is built without the lock
	keys             *attributes.Keys // nil if no attributes are kept
	counts           Counts
	// profiled is the end of the latest CPU window, in nanoseconds since 1970. profiles
	// has the times of all by service, owner the service of this process.
	profiled int64
	profiles map[serviceKey]profiled
	owner    *owner
	// dropped has the end of the last CPU window that was dropped, by service.
	dropped map[string]int64
	// last is the newest view, nil after a change.
	last       *View
	generation uint64
	disk       *disk      // nil if nothing is written
	closed     DiskCounts // of the disk after Close
	loader     *loader    // nil without a directory
	// Running returns the ids of the spans and traces that run, nil if unknown. It is called
	// under the lock.
	Running func() map[string]bool
	// gone has the spans with samples that were dropped from the open segment, goneBefore of
	// the segment before it.
	gone, goneBefore map[ident.Key]bool
	// least bounds the first eight bytes of trace ids. Spans of traces below it are not
	// listed.
	least uint64
	// unsaved are the spans since the last window, if there is a disk.
	unsaved      []Ended
	unsavedBytes int64
}

// NewRoom returns an empty room of at most maxBytes. keys decode the attributes of spans.
func NewRoom(maxBytes int64, keys *attributes.Keys) *Room {
	r := &Room{
		keys: keys, maxBytes: maxBytes, keptPart: 1, target: max(minSegment, maxBytes/maxSegments),
		owner: &owner{}, gone: make(map[ident.Key]bool), profiles: make(map[serviceKey]profiled), dropped: make(map[string]int64),
	}
	r.open = r.newSegment()
	return r
}

// newSegment returns an empty segment of this process.
func (r *Room) newSegment() *Segment {
	s := newSegment()
	s.owner = r.owner
	return s
}

// Export adds a profile. The error of one that is valid has the cause ErrTooLarge.
func (r *Room) Export(p *exporter.Profile) error {
	parsed, err := p.Parsed() // before the lock, because it takes the longest
	if err == nil {
		err = parsed.CheckValid()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed()
	if err != nil {
		r.counts.ParseErrors++
		return fmt.Errorf("store: invalid profile: %s: %w", p.Kind(), err)
	}
	w := r.add(p, parsed)
	if w == nil {
		r.counts.WindowsRefused++
		return fmt.Errorf("store: %w of %d bytes: %s with %d samples: raise WithMaxBytes", ErrTooLarge, r.maxBytes, p.Kind(), len(parsed.Sample))
	}
	r.save(p)
	r.counts.WindowsReceived++
	r.counts.CPU += w.cpu
	r.counts.Labelled += w.labelled
	// The indexes of the open segment are as large as the rest.
	limit := r.target * 2
	if w.kind == exporter.KindCPU {
		r.profiled = max(r.profiled, w.end)
		r.profiledBy(w, false)
		limit = r.target * 7 / 4
	}
	r.open.markSampled(w)
	r.bound()
	r.boundWindows()
	if r.open.bytes() >= limit {
		r.seal()
	}
	r.trim()
	return nil
}

// SetService sets the service of this process: see owner.set.
func (r *Room) SetService(service, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owner.set(service, version) {
		r.changed()
	}
}

// save hands a profile and the spans before it to the disk.
func (r *Room) save(p *exporter.Profile) {
	if r.disk != nil && (p != nil || len(r.unsaved) > 0) {
		size, spans := r.unsavedBytes, r.unsaved
		if p != nil {
			size += int64(p.Size())
		}
		d := r.disk
		d.add(size, func() error { return d.writeWindow(p, spans) })
		r.unsaved, r.unsavedBytes = nil, 0
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
	large := r.newSegment()
	w := large.build(p, parsed, r.maxBytes/2)
	if w == nil || large.bytes()+w.size > r.maxBytes/2 {
		return nil
	}
	large.addWindow(w)
	r.seal()
	r.open = large
	return w
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
		if r.unlisted(e.Trace) {
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
			own := r.open.spans.ended(&r.open.spans.list[len(r.open.spans.list)-1]) // e is part of a batch
			r.unsaved = append(r.unsaved, own)
			if r.unsavedBytes += own.bytes(); r.unsavedBytes >= maxUnsaved {
				r.save(nil)
			}
		}
		if i%64 == 63 {
			r.bound()
		}
	}
	r.bound()
}

// changed discards the newest view.
func (r *Room) changed() {
	r.last = nil
	r.generation++
}

// bound holds spans to their share. Spans that alone are as large as a segment are one.
func (r *Room) bound() {
	switch n := r.open.spans.bytes(); {
	case n <= r.target/share:
	case n > r.spanLimit(r.bytes()):
		r.dropSpans()
	case n >= r.target:
		r.seal()
	}
}

// spanLimit returns the bytes for the spans of a segment: a quarter of it, and more if little
// of the room is used.
func (r *Room) spanLimit(used int64) int64 { return max(r.target, r.maxBytes-3*used) / share }

// boundWindows holds profiles without labels to their share of the open segment.
func (r *Room) boundWindows() {
	limit := r.target / share
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
	r.open.windows = slices.DeleteFunc(slices.Clone(r.open.windows), func(w *window) bool { // views have the old ones
		if bytes <= limit || !w.unlabelled() || newest[w.kind] == w {
			return false
		}
		bytes -= w.size
		r.open.rows -= w.size
		r.counts.WindowsEvicted++
		return true
	})
}

// dropSpans drops half of the spans of the open segment.
func (r *Room) dropSpans() {
	before := r.open.spans.evicted
	for _, id := range r.open.spans.dropHalf(r.profiled, r.keys) {
		r.gone[id] = true
	}
	r.counts.SpansEvicted += r.open.spans.evicted - before
}

// seal seals the open segment, and opens the next one.
func (r *Room) seal() {
	if len(r.open.windows) == 0 && len(r.open.spans.list) == 0 {
		return
	}
	sealed := r.open.seal(r.before())
	r.countUnseen(sealed)
	r.sealed = append(slices.Clip(r.sealed), sealed)
	r.open = r.newSegment()
	if r.disk != nil {
		r.save(nil)
		r.disk.add(0, r.disk.seal)
	}
}

// before returns the kept segment and the sealed ones.
func (r *Room) before() []*Segment {
	if r.kept == nil {
		return r.sealed
	}
	return append([]*Segment{r.kept}, r.sealed...)
}

// trim drops the oldest segments until the rest fits, with what spans may add before the next
// profile. It leaves the lock while it builds the kept segment. Meanwhile other calls do
// nothing.
func (r *Room) trim() {
	for !r.trimming && len(r.sealed) > 0 && r.bytes()+max(0, r.target/share-r.open.spans.bytes()) > r.maxBytes {
		oldest, before := r.sealed[0], r.kept
		k := r.keeper(oldest)
		r.trimming = true
		r.mu.Unlock()
		kept := k.build(r.maxBytes / pendingShare)
		r.mu.Lock()
		r.trimming = false
		if r.sealed[0] != oldest || r.kept != before {
			continue // segments of an earlier process were read meanwhile
		}
		r.changed()
		r.sealed = slices.Clone(r.sealed[1:])
		for _, w := range oldest.windows {
			if !oldest.earlier {
				r.counts.WindowsEvicted++
			}
			if w.kind == exporter.KindCPU {
				r.dropped[w.name()] = max(r.dropped[w.name()], w.end)
			}
		}
		r.replaceKept(k, kept)
	}
}

// bytes returns the memory of all segments, as far as it is counted.
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
