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
	j := joining{index: g.index, loose: g.loose(), label: g.labels().get(spanNameLabel)}
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
	for some := range w.joinings() {
		l.joinSome(w, some)
	}
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
			l.countOrphan(j.span, j, w.service)
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
}

// addSamples adds samples to the record of a span. It returns false if there is
// none.
func (l *spanLog) addSamples(key spanKey, j *joining) bool {
	id, ok := l.index[key]
	if !ok {
		return false
	}
	r := l.row(id)
	if r.cpuCount == 0 && j.cpuCount > 0 {
		l.withSamples++
	}
	r.add(j.spanSamples)
	if j.label == r.name.value {
		// So that the text of the label is not held for longer than the
		// windows that have it.
		r.label = r.name.value
	} else {
		r.label = orElse(j.label, r.label)
	}
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
	o := l.orphan(key)
	first = o.cpuCount == 0 && j.cpuCount > 0
	o.add(j.spanSamples)
	return first
}

// countOrphan counts samples of a span without a record by their label, until the
// span tells its name.
func (l *spanLog) countOrphan(key spanKey, j *joining, service string) {
	if j.label == "" || j.cpuCount == 0 {
		return
	}
	o := l.orphan(key)
	if o.name.value == "" {
		o.name = nameKey{service, j.label}
	}
	o.counted.cpu += j.cpu
	o.counted.cpuCount += j.cpuCount
	l.countByName(o.name, j.cpu, j.cpuCount, j.label)
}

func (l *spanLog) countByName(name nameKey, cpu time.Duration, samples int64, label string) {
	n := l.retainName(name.service, name.value)
	c := l.count(n)
	c.cpu += cpu
	c.cpuCount += samples
	c.label = orElse(label, c.label)
	l.releaseName(n)
}

// orphan returns what is remembered of a span without a record.
func (l *spanLog) orphan(key spanKey) *orphan {
	if o := l.orphans.get(key); o != nil {
		return o
	}
	if len(l.orphans.newer) >= l.maxOrphans {
		l.orphans.older, l.orphans.newer = l.orphans.newer, nil
	}
	if l.orphans.newer == nil {
		l.orphans.newer = make(map[spanKey]*orphan)
	}
	o := &orphan{}
	l.orphans.newer[key] = o
	return o
}

// adopt gives a span that ends the samples that came before.
func (l *spanLog) adopt(r *spanRecord, key spanKey) {
	if len(l.orphans.newer)+len(l.orphans.older) == 0 {
		return
	}
	o := l.orphans.get(key)
	if o == nil {
		return
	}
	delete(l.orphans.newer, key)
	delete(l.orphans.older, key)
	r.add(o.spanSamples)
	if o.name.value != "" {
		r.label = o.name.value
		l.countByName(o.name, -o.counted.cpu, -o.counted.cpuCount, "")
	}
	if o.cpuCount > 0 {
		c := l.count(r.name)
		c.cpu += o.cpu
		c.cpuCount += o.cpuCount
		c.label = orElse(r.label, c.label)
	}
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
			l.orphan(parent).below += cpu
			return
		}
		r = l.row(id)
		if parent != except {
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
	l.dropFrom(j.span, j.held)
	if j.profile != j.span {
		l.dropFrom(j.profile, j.held)
	}
}

func (l *spanLog) dropFrom(key spanKey, samples int64) {
	if id, ok := l.index[key]; ok {
		r := l.row(id)
		r.held = max(0, r.held-samples)
	} else if o := l.orphans.get(key); o != nil {
		o.held = max(0, o.held-samples)
	}
}
