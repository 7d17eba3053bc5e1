// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/attributes"
)

// View is what a room held at one moment. It never changes, and is safe for concurrent use.
type View struct {
	// segments are the oldest first. The last one is a snapshot of the open segment.
	segments []*Segment
	kept     *Segment // nil if nothing is kept
	// Counts, Bytes and Generation are of that moment.
	Counts     Counts
	Bytes      int64
	Generation uint64
	// Dropped has the end of the last CPU window that was dropped, by service.
	Dropped map[string]int64
	keys    *attributes.Keys // nil if no attributes are kept

	once sync.Once // sorts the snapshot
}

// View returns a view. It holds the lock for as long as it takes to copy references.
func (r *Room) View() *View {
	r.mu.Lock()
	v := r.last
	if v == nil {
		v = &View{
			segments: append(slices.Clip(r.sealed), r.open.snapshot()), kept: r.kept, keys: r.keys,
			Counts: r.counts, Bytes: r.bytes(), Generation: r.generation, Dropped: maps.Clone(r.dropped),
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
	Types            []ValueType
	// Samples is the number of samples, Bytes the memory of the rows.
	Samples, Bytes int64
	// Kernel is set if a mapping is the kernel's.
	Kernel  bool
	Looks   *looks.Looks // nil if absent
	Process *Process     // nil for this process
}

// Windows returns the profiles that are held, by segment, in the order of arrival.
func (v *View) Windows() (list []Window) {
	for _, s := range v.segments {
		for _, w := range s.windows {
			list = append(list, Window{
				Kind: w.kind, Service: w.service, Version: w.version, Start: time.Unix(0, w.start), End: time.Unix(0, w.end),
				Types: w.types, Samples: w.samples, Bytes: w.size, Kernel: w.kernel, Looks: w.looks, Process: s.process,
			})
		}
	}
	return list
}

// Names returns the numbers of spans that ended in the segments held, by name.
func (v *View) Names() []NameTotal {
	places := make(map[nameKey]int)
	var list []NameTotal
	for _, s := range v.segments {
		for _, t := range s.spans.totals {
			key := nameKey{t.Service, t.Name}
			at, ok := places[key]
			if !ok {
				at = len(list)
				places[key] = at
				list = append(list, NameTotal{Service: t.Service, Name: t.Name})
			}
			sum := &list[at]
			sum.Spans += t.Spans
			sum.Errors += t.Errors
			sum.Duration += t.Duration
			sum.MaxDuration = max(sum.MaxDuration, t.MaxDuration)
		}
	}
	return list
}
