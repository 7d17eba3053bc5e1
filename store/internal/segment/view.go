// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// View is what a room held at one moment. It never changes, and is safe for concurrent use.
type View struct {
	// segments are the oldest first. The last one is a snapshot of the open segment.
	segments []*Segment
	kept     *Segment   // nil if nothing is kept
	whole    []*Segment // with the kept one
	Stats               // of that moment
	// Dropped has the end of the last CPU window that was dropped, by service.
	Dropped  map[string]int64
	profiles map[serviceKey]profiled
	keys     *attributes.Keys // nil if no attributes are kept

	once   sync.Once // sorts the snapshot
	byID   sync.Once // fills places
	places map[ident.Key]place
	summed sync.Once // fills below
	below  map[ident.Key]int64
}

// View returns a view. It holds the lock for as long as it takes to copy references.
func (r *Room) View() *View {
	r.mu.Lock()
	v := r.last
	if v == nil {
		v = &View{
			whole: append(slices.Clip(r.before()), r.open.snapshot()), kept: r.kept, keys: r.keys,
			Stats: r.stats(), Dropped: maps.Clone(r.dropped), profiles: maps.Clone(r.profiles),
		}
		v.segments = v.whole[len(v.whole)-len(r.sealed)-1:]
		r.last = v
	}
	r.mu.Unlock()
	v.once.Do(func() {
		n := len(v.segments) - 1
		open := v.segments[n]
		open.spans.sort()
		open.index = open.sum(v.segments[:n], false)
	})
	return v
}

// Held are the numbers of spans and windows held.
type Held struct{ Spans, Windows int }

// held returns what the segments hold of this process and of earlier ones.
func (r *Room) held() (own, earlier Held) {
	for _, s := range append(r.before(), r.open) {
		n := s.own()
		own.Spans += n
		earlier.Spans += s.spans.listed - n
		switch {
		case s == r.kept: // its windows are parts
		case !s.earlier:
			own.Windows += len(s.windows)
		default:
			earlier.Windows += len(s.windows)
		}
	}
	return own, earlier
}

// Stats are what a room holds at a moment.
type Stats struct {
	Counts
	Held, Earlier Held
	Bytes         int64
	Generation    uint64
	Disk          DiskCounts
	// Unreadable is the number of files and directories that could not be read. LeftOut and
	// SpansLeftOut are the numbers of profiles and of spans without room.
	Unreadable, LeftOut, SpansLeftOut int64
}

// Stats returns what the room holds.
func (r *Room) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats()
}

func (r *Room) stats() Stats {
	s := Stats{Counts: r.counts, Bytes: r.bytes(), Generation: r.generation, Disk: r.closed}
	s.Held, s.Earlier = r.held()
	if r.disk != nil {
		s.Disk = r.disk.Counts()
	}
	if l := r.loader; l != nil {
		s.Unreadable, s.LeftOut, s.SpansLeftOut = l.unreadable.Load(), l.leftOut.Load(), l.spansLeftOut.Load()
	}
	return s
}

// Lookup returns the name and trace of a span that has ended.
func (r *Room) Lookup(id ident.Key) (Ended, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.open.spans.at(id); ok && !r.open.spans.list[i].child {
		return r.open.spans.ended(&r.open.spans.list[i]), true
	}
	for _, s := range slices.Backward(r.before()) {
		if e := s.spans.find(id); e != nil && !e.child {
			return s.spans.ended(e), true
		}
	}
	return Ended{}, false
}

// Changed counts a change beside the room.
func (r *Room) Changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed()
}

// Window describes a profile that is held: see store.WindowInfo.
type Window struct {
	Kind                    exporter.Kind
	Service, ServiceVersion string
	Start                   time.Time
	Duration                time.Duration
	Samples, Bytes          int64 // Bytes is the memory of the rows
	Kernel                  bool  // a mapping is the kernel's
	Earlier                 bool  // of an earlier process
}

// Windows returns the profiles held, in the order of arrival in each segment.
func (v *View) Windows() (list []Window) {
	for _, s := range v.segments {
		for _, w := range s.windows {
			list = append(list, Window{w.kind, w.name(), w.release(), time.Unix(0, w.start), time.Duration(w.end - w.start), w.samples, w.size, w.kernel, s.earlier})
		}
	}
	return list
}

// Names returns the spans that ended in the segments held and the CPU time of their rows,
// by name.
func (v *View) Names(ctx context.Context) ([]NameTotal, error) {
	places := make(map[nameKey]*NameTotal)
	sum := func(key nameKey) *NameTotal {
		if places[key] == nil {
			places[key] = &NameTotal{Service: key.service, Name: key.name}
		}
		return places[key]
	}
	for _, s := range v.segments {
		for _, t := range s.spans.totals {
			to := sum(nameKey{t.Service, t.Name})
			to.Spans += t.Spans
			to.Errors += t.Errors
			to.Duration += t.Duration
			to.MaxDuration = max(to.MaxDuration, t.MaxDuration)
		}
	}
	ended := make(map[nameKey]bool)
	for key := range places {
		ended[key] = true
	}
	for _, s := range v.segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		labels, unknown := make([]string, len(s.sets.list)), make([]bool, len(s.sets.list))
		for set := range labels {
			labels[set] = s.value(uint32(set), labelkey.SpanName)
			unknown[set] = slices.ContainsFunc(s.windows, func(w *window) bool {
				return w.kind == exporter.KindCPU && !ended[nameKey{w.name(), labels[set]}]
			})
		}
		names := v.recorded(s, unknown)
		for _, w := range s.windows {
			if w.kind != exporter.KindCPU {
				continue
			}
			last, to, known := -1, &NameTotal{}, make([]*NameTotal, len(labels))
			for row := range w.len() {
				if g := w.groups.At(row); g != last {
					last = g
					set := s.groups.list[g].set
					if to = known[set]; to == nil || unknown[set] && len(names) > 0 {
						key := nameKey{w.name(), labels[set]}
						if of, ok := names[uint32(g)]; ok && !ended[key] {
							key = of
						}
						if to = sum(key); labels[set] != "" {
							to.Label = labels[set]
						}
						known[set] = to
					}
				}
				if to.Name != "" {
					to.CPU += w.cpuOf(row)
					to.Samples += w.count(row)
				}
			}
		}
	}
	var list []NameTotal
	for key, of := range places {
		if key.name != "" || ended[key] {
			list = append(list, *of)
		}
	}
	return list, nil
}

// recorded returns the names of the spans of groups with some labels, as far as they have a
// record. It may have another name: the span was renamed, or the label was cut or is absent.
func (v *View) recorded(s *Segment, labelled []bool) map[uint32]nameKey {
	names := make(map[uint32]nameKey)
	if !slices.ContainsFunc(s.groups.list, func(g group) bool { return (g.span != 0 || g.odd) && labelled[g.set] }) {
		return names
	}
	longest := s.longest()
	for _, in := range v.whole {
		for i := range in.spans.list {
			r := &in.spans.list[i]
			if r.name == 0 || r.start > s.until || s.from > r.end()+2*longest && !s.index.hasLate(r.id) {
				continue
			}
			for g := range s.index.each(s, r.id) {
				profile, span := s.idsIn(g)
				if _, ok := names[g]; labelled[s.groups.list[g].set] && (r.id == span || r.id == profile && !ok) {
					names[g] = nameKey{in.spans.texts.list[r.service], in.spans.texts.list[r.name]}
				}
			}
		}
	}
	return names
}
