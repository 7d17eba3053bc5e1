// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/exporter"
)

// index holds the windows and finds their groups by id. Slices in it only grow
// at the end or are replaced, so that a reader may keep them.
type index struct {
	// windows are in the order of their arrival.
	windows []*window
	// ids finds groups by profile_id and by span_id; exemplars are its
	// entries that no span_id names.
	ids       map[string]*idEntry
	exemplars map[string]*idEntry
	// covered is the end of the latest CPU window of a service.
	covered map[string]time.Time
	// bytes is the memory of the windows and of the index.
	bytes int64
}

func newIndex() index {
	return index{
		ids:       make(map[string]*idEntry),
		exemplars: make(map[string]*idEntry),
		covered:   make(map[string]time.Time),
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
	if w.kind != exporter.KindCPU {
		return
	}
	covered, ok := x.covered[w.service]
	if !ok {
		x.bytes += slotSize(stringSize + int64(unsafe.Sizeof(covered)))
	}
	if !ok || w.end.After(covered) {
		x.covered[w.service] = w.end
	}
}

// coveredUntil returns the end of the latest CPU window of a service, or of any
// if the service has none: the spans' resource then differs from the profiles'.
func (x *index) coveredUntil(service string) (end time.Time) {
	if covered, ok := x.covered[service]; ok {
		return covered
	}
	for _, covered := range x.covered {
		if covered.After(end) {
			end = covered
		}
	}
	return end
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
