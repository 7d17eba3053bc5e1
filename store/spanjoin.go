// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/exporter"
)

const (
	// joinLen is how many groups are joined while the log is locked.
	joinLen = 32
	// maxDepth bounds the way from a span to its local root.
	maxDepth = 100
)

// join adds the samples of a window to its spans, and notes in the window which
// groups are loose.
func (l *spanLog) join(w *window) {
	for first := 0; first < len(w.groups); first += joinLen {
		l.joinSome(w, first, min(first+joinLen, len(w.groups)))
	}
}

func (l *spanLog) joinSome(w *window, first, last int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := first; i < last; i++ {
		g := group{w, i}
		if !g.named() {
			continue
		}
		s := spanSamples{held: g.count()}
		s.cpu, s.cpuCount = g.cpu()
		if w.kind == exporter.KindWall {
			s.wallCount = s.held
		}
		label := g.labels().get(spanNameLabel)
		profile, span := g.spans()
		if span != 0 && !l.addSamples(span, s, label) {
			if l.addOrphan(span, s) {
				l.withSamples++
			}
			l.countOrphan(span, s, w.service, label)
		}
		known := false
		if profile != 0 && profile != span {
			if known = l.addSamples(profile, s, label); !known && span == 0 {
				// It may be a manual exemplar as well, which counts by
				// itself.
				l.addOrphan(profile, s)
			}
		}
		if g.loose() && !known {
			w.loose = append(w.loose, uint32(i))
		}
		if s.cpu == 0 {
			continue
		}
		if span != 0 {
			l.climb(span, profile, s.cpu)
		} else {
			l.climb(profile, 0, s.cpu)
		}
	}
}

// addSamples adds samples to the record of a span. It returns false if there is
// none.
func (l *spanLog) addSamples(key spanKey, s spanSamples, label string) bool {
	id, ok := l.index[key]
	if !ok {
		return false
	}
	r := l.row(id)
	if r.cpuCount == 0 && s.cpuCount > 0 {
		l.withSamples++
	}
	r.add(s)
	r.label = orElse(label, r.label)
	if s.cpuCount > 0 {
		c := l.count(r.name)
		c.cpu += s.cpu
		c.cpuCount += s.cpuCount
		c.label = orElse(label, c.label)
	}
	l.offer(id)
	return true
}

// addOrphan remembers samples of a span without a record, and says whether they
// are its first of CPU.
func (l *spanLog) addOrphan(key spanKey, s spanSamples) (first bool) {
	o := l.orphan(key)
	first = o.cpuCount == 0 && s.cpuCount > 0
	o.add(s)
	return first
}

// countOrphan counts samples of a span without a record by their label, until the
// span tells its name.
func (l *spanLog) countOrphan(key spanKey, s spanSamples, service, label string) {
	if label == "" || s.cpuCount == 0 {
		return
	}
	o := l.orphan(key)
	if o.name == nil {
		o.name = l.retainName(service, label)
	}
	c := l.count(o.name)
	c.cpu += s.cpu
	c.cpuCount += s.cpuCount
	c.label = label
	o.counted.cpu += s.cpu
	o.counted.cpuCount += s.cpuCount
}

// orphan returns what is remembered of a span without a record.
func (l *spanLog) orphan(key spanKey) *orphan {
	if o := l.orphans.get(key); o != nil {
		return o
	}
	if len(l.orphans.newer) >= l.maxOrphans {
		for _, o := range l.orphans.older {
			if o.name != nil {
				l.releaseName(o.name)
			}
		}
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
	if o.name != nil {
		r.label = o.name.value
		c := l.count(o.name)
		c.cpu -= o.counted.cpu
		c.cpuCount -= o.counted.cpuCount
		l.releaseName(o.name)
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
	for first := 0; first < len(w.groups); first += joinLen {
		kept = l.leaveSome(kept, w, first, min(first+joinLen, len(w.groups)))
	}
	return kept
}

func (l *spanLog) leaveSome(kept []int, w *window, first, last int) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := first; i < last; i++ {
		g := group{w, i}
		profile, span := g.spans()
		if l.pinned(profile) || l.pinned(span) {
			kept = append(kept, i)
			continue
		}
		l.drop(span, g.count())
		if profile != span {
			l.drop(profile, g.count())
		}
	}
	return kept
}

// leaveAll is leave for a window of groups that were kept and are no longer.
func (l *spanLog) leaveAll(w *window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range w.groups {
		g := group{w, i}
		profile, span := g.spans()
		l.drop(span, g.count())
		if profile != span {
			l.drop(profile, g.count())
		}
	}
}

func (l *spanLog) pinned(key spanKey) bool {
	id, ok := l.index[key]
	return ok && key != 0 && l.row(id).pinned()
}

// drop takes samples from what a span holds. Of some the log may never have
// known, as they came before the span's record and were too many.
func (l *spanLog) drop(key spanKey, samples int64) {
	if id, ok := l.index[key]; ok {
		r := l.row(id)
		r.held = max(0, r.held-samples)
	} else if o := l.orphans.get(key); o != nil {
		o.held = max(0, o.held-samples)
	}
}
