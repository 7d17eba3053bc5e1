// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"maps"
	"math"
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
	kept     *Segment // nil if nothing is kept
	Stats             // of that moment
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
			segments: append(slices.Clip(r.sealed), r.open.snapshot()), kept: r.kept, keys: r.keys,
			Stats: r.stats(), Dropped: maps.Clone(r.dropped),
			profiles: maps.Clone(r.profiles),
		}
		r.last = v
	}
	r.mu.Unlock()
	v.once.Do(func() {
		n := len(v.segments) - 1
		v.segments[n].ready(v.segments[:n])
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
		case s.process == nil:
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
	// Restoring is set until all of earlier processes is read. Unreadable is the number of
	// files and directories that could not be read, LeftOut the number of profiles without
	// room.
	Restoring           bool
	Unreadable, LeftOut int64
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
		s.Unreadable, s.LeftOut = l.unreadable.Load(), l.leftOut.Load()
		select {
		case <-l.done:
		default:
			s.Restoring = true
		}
	}
	return s
}

// Generation returns a number that increases with each change.
func (r *Room) Generation() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.generation
}

// Changed counts a change beside the room.
func (r *Room) Changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed()
}

// all returns the segments with the kept one.
func (v *View) all() []*Segment {
	if v.kept == nil {
		return v.segments
	}
	return append([]*Segment{v.kept}, v.segments...)
}

// Window describes a profile that is held.
type Window struct {
	Kind             exporter.Kind
	Service, Version string
	Start, End       time.Time
	// Samples is the number of samples, Bytes the memory of the rows.
	Samples, Bytes int64
	Kernel         bool     // set if a mapping is the kernel's
	Process        *Process // nil for this process
}

// Windows returns the profiles held that overlap a time, as in a Query. They are in the order
// of arrival in each segment.
func (v *View) Windows(from, until int64) (list []Window) {
	for _, s := range v.segments {
		for _, w := range s.windows {
			if !w.overlaps(from, cmp.Or(until, math.MaxInt64)) {
				continue
			}
			list = append(list, Window{
				Kind: w.kind, Service: w.name(), Version: w.release(), Start: time.Unix(0, w.start), End: time.Unix(0, w.end),
				Samples: w.samples, Bytes: w.size, Kernel: w.kernel, Process: s.process,
			})
		}
	}
	return list
}

// NameSum is a NameTotal with the CPU time of the rows of these spans. Label is the
// span_name of some of the rows, "" without rows.
type NameSum struct {
	NameTotal
	Label        string
	CPU, Samples int64
}

// Names returns the spans that ended in the segments held and the CPU time of their rows,
// by name.
func (v *View) Names(ctx context.Context) ([]NameSum, error) {
	places := make(map[nameKey]int)
	var list []NameSum
	sum := func(key nameKey) *NameSum {
		at, ok := places[key]
		if !ok {
			at = len(list)
			places[key] = at
			list = append(list, NameSum{NameTotal: NameTotal{Service: key.service, Name: key.name}})
		}
		return &list[at]
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
		label := func(l uint32) string { return s.value(s.groups.labellings.list[l].set, labelkey.SpanName) }
		add := func(key nameKey, label string, cpu, samples int64) {
			if key.name != "" {
				to := sum(key)
				to.Label = cmp.Or(label, to.Label)
				to.CPU += cpu
				to.Samples += samples
			}
		}
		for _, w := range s.windows {
			if w.kind != exporter.KindCPU {
				continue
			}
			// Without a span of such a name, the record of the id has the name.
			is, not := make([]bool, len(s.groups.labellings.list)), make([]bool, len(s.groups.labellings.list))
			for l, of := range s.groups.labellings.list {
				is[l] = of.form == none || ended[nameKey{w.name(), label(uint32(l))}]
				not[l] = !is[l]
			}
			named, others := found{window: w, of: s, match: &match{labels: is}}, found{window: w, of: s, match: &match{labels: not}}
			for l, sums := range named.byLabels() {
				add(nameKey{w.name(), label(l)}, label(l), w.cpuIn(sums[1:]), sums[0])
			}
			if !others.some() {
				continue
			}
			last, key, text, cpu, samples := -1, nameKey{}, "", int64(0), int64(0)
			for row := range others.rows() {
				if g := w.groups.At(row); g != last {
					add(key, text, cpu, samples)
					last, text, cpu, samples = g, label(s.groups.labelling(uint32(g))), 0, 0
					key = v.nameOf(s, uint32(g), nameKey{w.name(), text})
				}
				cpu += w.cpuOf(row)
				samples += w.count(row)
			}
			add(key, text, cpu, samples)
		}
	}
	return list, nil
}

// nameOf returns the name of the span of a group. Its record may have another one than its
// label: the span was renamed, or the label was cut or is absent.
func (v *View) nameOf(s *Segment, g uint32, label nameKey) nameKey {
	profile, span := s.idsIn(g)
	name, service := v.NameOf(span)
	if name == "" && profile != span {
		name, service = v.NameOf(profile)
	}
	if name == "" {
		return label
	}
	return nameKey{service, name}
}
