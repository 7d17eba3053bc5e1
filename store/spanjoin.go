// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

const (
	// joinLen is how many groups are joined while the log is locked.
	joinLen = 32
	// maxDepth bounds the way from a span to its local root.
	maxDepth = 100
)

// joining is a group on its way to the records of its spans.
type joining struct {
	index         int
	profile, span spanKey
	loose         bool
	label         string
	spanSamples
}

// newJoining returns what there is to know of a group, as long as nothing is
// locked: it may have many samples.
func newJoining(g group) joining {
	j := joining{index: g.index, loose: g.loose(), label: cut(g.labels().get(spanNameLabel))}
	j.profile, j.span = g.spans()
	j.held = g.count()
	j.cpu, j.cpuCount = g.cpu()
	if g.window.kind == exporter.KindWall {
		j.wallCount = j.held
	}
	return j
}

// joinings returns the groups of a window that have an id, joinLen at a time.
func (w *window) joinings() iter.Seq[[]joining] {
	return func(yield func([]joining) bool) {
		some := make([]joining, 0, joinLen)
		for i := range w.groups {
			if g := (group{w, i}); g.named() {
				some = append(some, newJoining(g))
			}
			if len(some) == joinLen {
				if !yield(some) {
					return
				}
				some = some[:0]
			}
		}
		if len(some) > 0 {
			yield(some)
		}
	}
}

// join adds the samples of a window to its spans, and notes in the window which
// groups are loose.
func (l *spanLog) join(w *window) {
	if w.kind == exporter.KindCPU {
		l.joinUntil(w.end.UnixNano())
	}
	for some := range w.joinings() {
		l.joinSome(w, some)
	}
}

func (l *spanLog) joinUntil(end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.joinedUntil = max(l.joinedUntil, end)
}

func (l *spanLog) joinSome(w *window, some []joining) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation.Add(1)
	for i := range some {
		j := &some[i]
		if j.span != 0 && !l.addSamples(j.span, j) {
			if l.addOrphan(j.span, j) {
				l.withSamples++
			}
			l.countByLabel(j, w.service)
		}
		known := false
		if j.profile != 0 && j.profile != j.span {
			if known = l.addSamples(j.profile, j); !known && j.span == 0 {
				// It may be a manual exemplar as well, which counts by
				// itself.
				l.addOrphan(j.profile, j)
			}
		}
		if j.loose && !known {
			w.loose = append(w.loose, uint32(j.index))
		}
		switch {
		case j.cpu == 0:
		case j.span != 0:
			l.climb(j.span, j.profile, j.cpu)
		default:
			l.climb(j.profile, 0, j.cpu)
		}
	}
	// Their labels may be new.
	l.trim()
}

// addSamples adds samples to the record of a span. It returns false if there is
// none.
func (l *spanLog) addSamples(key spanKey, j *joining) bool {
	id, ok := l.index[key]
	if !ok {
		return false
	}
	l.save(id)
	r := l.row(id)
	if r.cpuCount == 0 && j.cpuCount > 0 {
		l.withSamples++
	}
	r.add(j.spanSamples)
	l.label(r, j.label)
	if j.cpuCount > 0 {
		c := l.count(r.name)
		c.cpu += j.cpu
		c.cpuCount += j.cpuCount
		c.label = orElse(j.label, c.label)
	}
	l.offer(id)
	return true
}

// addOrphan remembers samples of a span without a record, and says whether they
// are its first of CPU.
func (l *spanLog) addOrphan(key spanKey, j *joining) (first bool) {
	o := l.orphans.of(key)
	first = o.cpuCount == 0 && j.cpuCount > 0
	o.add(j.spanSamples)
	l.orphans.label(o, j.label)
	return first
}

// countByLabel counts samples of a span without a record.
func (l *spanLog) countByLabel(j *joining, service string) {
	if j.label == "" || j.cpuCount == 0 {
		return
	}
	n := l.retainName(service, j.label)
	c := l.count(n)
	c.cpu += j.cpu
	c.cpuCount += j.cpuCount
	c.label = j.label
	l.releaseName(n)
}

// adopt gives a span that ends the samples that came before.
func (l *spanLog) adopt(r *spanRecord, key spanKey) {
	o := l.orphans.byKey[key]
	if o == nil {
		return
	}
	l.orphans.remove(o)
	r.add(o.spanSamples)
	l.label(r, o.label)
	// What went up from its children stopped here.
	if o.below > 0 || o.cpu > 0 {
		l.climbFrom(r, 0, o.below+o.cpu)
	}
}

// climb adds CPU time of a span to those that it descends from, but for the span
// named except, which has it already.
func (l *spanLog) climb(from, except spanKey, cpu time.Duration) {
	if id, ok := l.index[from]; ok {
		l.climbFrom(l.row(id), except, cpu)
	}
	// An orphan's goes up when its parent is known.
}

func (l *spanLog) climbFrom(r *spanRecord, except spanKey, cpu time.Duration) {
	for range maxDepth {
		if r.localRoot || !r.parentID.IsValid() {
			return
		}
		parent := newSpanKey(r.parentID)
		id, ok := l.index[parent]
		if !ok {
			l.orphans.of(parent).below += cpu
			return
		}
		r = l.row(id)
		if parent != except {
			l.save(id)
			r.below += cpu
		}
	}
}

// leave takes the samples of a window that goes from what their spans hold. It
// returns the groups of spans that are kept for longer.
func (l *spanLog) leave(w *window) (kept []int) {
	for some := range w.joinings() {
		kept = l.leaveSome(kept, some)
	}
	return kept
}

func (l *spanLog) leaveSome(kept []int, some []joining) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation.Add(1)
	for i := range some {
		j := &some[i]
		if l.pinned(j.profile) || l.pinned(j.span) {
			kept = append(kept, j.index)
			continue
		}
		l.drop(j)
	}
	return kept
}

// leaveAll is leave for a window of groups that were kept and are no longer.
func (l *spanLog) leaveAll(w *window) {
	for some := range w.joinings() {
		l.dropSome(some)
	}
}

func (l *spanLog) dropSome(some []joining) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation.Add(1)
	for i := range some {
		l.drop(&some[i])
	}
}

func (l *spanLog) pinned(key spanKey) bool {
	id, ok := l.index[key]
	return ok && key != 0 && l.row(id).pinned()
}

// drop takes samples from what their spans hold. Of some the log may never have
// known, as they came before the span's record and were too many.
func (l *spanLog) drop(j *joining) {
	l.dropFrom(j.span, j)
	if j.profile != j.span {
		l.dropFrom(j.profile, j)
	}
}

func (l *spanLog) dropFrom(key spanKey, j *joining) {
	if id, ok := l.index[key]; ok {
		l.save(id)
		r := l.row(id)
		r.held = max(0, r.held-j.held)
		r.missed = r.missed || j.cpuCount > 0
	} else if o := l.orphans.byKey[key]; o != nil {
		// It has started before the window ended: its record will know that
		// it may miss samples.
		o.held = max(0, o.held-j.held)
	}
}
