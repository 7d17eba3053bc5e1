// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// maxServices bounds for how many services the times of CPU windows are known.
const maxServices = 256

// held is what queries read. Slices in it only grow at the end, and all else is
// replaced, so that a copy never changes.
type held struct {
	// windows are in the order of their arrival, those of earlier processes first.
	windows []*window
	// kept has, of windows that are gone, the groups of spans that are kept
	// for longer: the slowest, say. Each is of one span, its owner.
	kept []*window
	// code has the stacks of both.
	code code
	// times are those of the CPU windows of this process, by service.
	times map[string]*cputime.Times
	// processes are the earlier ones that windows and spans are of, by number from 1 on.
	processes []*Process
}

// index holds the windows.
type index struct {
	held
	// bytes is the memory of all windows and of the index, keptBytes that of
	// kept in it, unlabelledBytes that of the windows without labels.
	bytes, keptBytes, unlabelledBytes int64
	// unlabelled is the number of the windows without labels.
	unlabelled int
	// restored is the number of the windows of earlier processes. They come newest
	// first: spare has the windows with room for so many before them, unless another
	// change has made a list of its own.
	restored int
	spare    []*window
	before   int
}

func newIndex() index { return index{held: held{times: make(map[string]*cputime.Times)}} }

func (x *index) add(w *window) {
	x.windows = append(x.windows, w)
	x.bytes += w.cost()
	if w.unlabelled() {
		x.unlabelled++
		x.unlabelledBytes += w.cost()
	}
	if w.Kind == exporter.KindCPU {
		x.addTimes(w)
	}
}

// prepend adds a window of an earlier process, as the oldest.
func (x *index) prepend(w *window) {
	if x.before == 0 || len(x.windows) == 0 || &x.spare[x.before] != &x.windows[0] {
		x.before = max(64, len(x.windows))
		x.spare = make([]*window, x.before+len(x.windows))
		copy(x.spare[x.before:], x.windows)
	}
	// Views have the list from its first window on.
	x.before--
	x.spare[x.before] = w
	x.windows = x.spare[x.before:]
	x.bytes += w.cost()
	x.restored++
	if w.unlabelled() {
		x.unlabelled++
		x.unlabelledBytes += w.cost()
	}
}

func (x *index) addTimes(w *window) {
	if _, ok := x.times[w.Service]; !ok && len(x.times) >= maxServices {
		x.setTimes(x.stalest(), nil)
	}
	t := cputime.New()
	if old := x.times[w.Service]; old != nil {
		t = old.Clone()
	}
	t.Add(ident.UnixNano(w.Start), ident.UnixNano(w.End))
	x.setTimes(w.Service, t)
}

// setTimes replaces the times of a service; nil forgets it.
func (x *index) setTimes(service string, t *cputime.Times) {
	x.times = maps.Clone(x.times)
	if old := x.times[service]; old != nil {
		x.bytes -= old.Cost(service)
		delete(x.times, service)
	}
	if t != nil {
		x.times[service] = t
		x.bytes += t.Cost(service)
	}
}

// stalest returns the service whose windows ended first.
func (x *index) stalest() string {
	first := ""
	for service, t := range x.times {
		if oldest, ok := x.times[first]; !ok || t.Until < oldest.Until {
			first = service
		}
	}
	return first
}

// timesOf returns the times of the CPU windows of a service, or of the service
// with the latest one if it has none: the spans' resource then differs from the
// profiles'. It is nil where there was no CPU window.
func (x *held) timesOf(service string) *cputime.Times {
	if t, ok := x.times[service]; ok {
		return t
	}
	var latest *cputime.Times
	for _, t := range x.times {
		if latest == nil || t.Until > latest.Until {
			latest = t
		}
	}
	return latest
}

// keep enters parts, and takes others out.
func (x *index) keep(parts, without []*window) {
	for _, w := range without {
		x.bytes -= w.cost()
		x.keptBytes -= w.cost()
	}
	if len(without) > 0 {
		gone := make(map[*window]bool, len(without))
		for _, w := range without {
			gone[w] = true
		}
		x.kept = slices.DeleteFunc(slices.Clone(x.kept), func(w *window) bool { return gone[w] })
	}
	for _, w := range parts {
		x.bytes += w.cost()
		x.keptBytes += w.cost()
	}
	x.kept = append(x.kept, parts...)
}

// cost is the memory of a window with its place in the index.
func (w *window) cost() int64 { return w.bytes + 2*memory.Pointer }
