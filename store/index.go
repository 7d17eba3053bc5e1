// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/hex"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
)

// maxServices bounds for how many services the times of CPU windows are known.
const maxServices = 256

// index holds the windows and finds their groups by id. Slices in it only grow
// at the end or are replaced, so that a reader may keep them.
type index struct {
	// windows are in the order of their arrival.
	windows []*window
	// ids finds groups by profile_id and by span_id; exemplars are its
	// entries that no span_id names.
	ids       map[string]*idEntry
	exemplars map[string]*idEntry
	// times are those of the CPU windows, by service.
	times map[string]*cpuTimes
	// bytes is the memory of the windows and of the index.
	bytes int64
}

func newIndex() index {
	return index{
		ids:       make(map[string]*idEntry),
		exemplars: make(map[string]*idEntry),
		times:     make(map[string]*cpuTimes),
	}
}

func (x *index) add(w *window) {
	x.windows = append(x.windows, w)
	x.bytes += w.bytes + pointerSize
	for i := range w.groups {
		g := &w.groups[i]
		cpu, samples := g.cpu()
		for _, id := range g.ids() {
			e := x.ids[id]
			if e == nil {
				e = &idEntry{id: id}
				x.ids[id] = e
				x.bytes += e.cost()
			}
			before := cap(e.groups)
			e.groups = append(e.groups, g)
			x.bytes += int64(cap(e.groups)-before) * pointerSize
			e.cpu += cpu
			e.samples += samples
			if id == g.spanID {
				e.spans++
			}
			x.setExemplar(e)
		}
	}
	if w.kind == exporter.KindCPU {
		x.addTimes(w)
	}
}

// entry returns what is known of a span's id, nil if that is nothing.
func (x *index) entry(id trace.SpanID) *idEntry {
	var text [2 * len(id)]byte
	hex.Encode(text[:], id[:])
	return x.ids[string(text[:])]
}

func (x *index) addTimes(w *window) {
	t, ok := x.times[w.service]
	if ok {
		x.bytes -= t.cost(w.service)
	} else {
		if len(x.times) >= maxServices {
			x.dropTimes()
		}
		t = newCPUTimes()
		x.times[w.service] = t
	}
	t.add(w)
	x.bytes += t.cost(w.service)
}

// dropTimes forgets the service whose windows ended first.
func (x *index) dropTimes() {
	first := ""
	for service, t := range x.times {
		if oldest, ok := x.times[first]; !ok || t.until < oldest.until {
			first = service
		}
	}
	x.bytes -= x.times[first].cost(first)
	delete(x.times, first)
}

// timesOf returns the times of the CPU windows of a service, or of the service
// with the latest one if it has none: the spans' resource then differs from the
// profiles'. It is nil where there was no CPU window.
func (x *index) timesOf(service string) *cpuTimes {
	if t, ok := x.times[service]; ok {
		return t
	}
	var latest *cpuTimes
	for _, t := range x.times {
		if latest == nil || t.until > latest.until {
			latest = t
		}
	}
	return latest
}

// removeOldest takes the window that arrived first out of the index.
func (x *index) removeOldest() *window {
	w := x.windows[0]
	x.windows = slices.Clone(x.windows[1:])
	x.bytes -= w.bytes + pointerSize
	for i := range w.groups {
		g := &w.groups[i]
		cpu, samples := g.cpu()
		for _, id := range g.ids() {
			e := x.ids[id]
			e.cpu -= cpu
			e.samples -= samples
			if id == g.spanID {
				e.spans--
			}
		}
	}
	if t := x.times[w.service]; t != nil && w.kind == exporter.KindCPU {
		x.bytes -= t.cost(w.service)
		t.evict(w.start.UnixNano(), w.end.UnixNano())
		x.bytes += t.cost(w.service)
	}
	for i := range w.groups {
		for _, id := range w.groups[i].ids() {
			// An id in several groups is dealt with at the first.
			if e := x.ids[id]; e != nil && e.groups[0].window == w {
				x.dropGroups(e, w)
			}
		}
	}
	return w
}

// dropGroups removes the groups of w, the oldest window, from e, and e itself
// if that was all.
func (x *index) dropGroups(e *idEntry, w *window) {
	x.bytes -= int64(cap(e.groups)) * pointerSize
	keep := slices.IndexFunc(e.groups, func(g *group) bool { return g.window != w })
	if keep < 0 {
		e.groups = nil
		x.bytes -= e.cost()
		delete(x.ids, e.id)
	} else {
		e.groups = slices.Clone(e.groups[keep:])
		x.bytes += int64(cap(e.groups)) * pointerSize
	}
	x.setExemplar(e)
}

// setExemplar enters e in exemplars, or removes it.
func (x *index) setExemplar(e *idEntry) {
	_, was := x.exemplars[e.id]
	is := len(e.groups) > 0 && e.spans == 0
	switch {
	case is && !was:
		x.exemplars[e.id] = e
		x.bytes += slotSize(stringSize + pointerSize)
	case was && !is:
		delete(x.exemplars, e.id)
		x.bytes -= slotSize(stringSize + pointerSize)
	}
}
