// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"github.com/spanprof/spanprof/internal/goruntime"
)

func (runtimeLabeler) end(s *spanState) bool {
	carrier := s.carrier
	switch {
	case carrier == nil:
		return true
	case s.heir && !s.leaveHeir(), !s.heir && carrier.hasEnded():
		// Given up or taken over by another span: nothing is left to be done but where
		// a pprof.Do has put the labels back.
		runtimeLabeler{}.settle()
		return true
	case s.heir:
		carried := s.copied || carrier.takeOff(true, s.found)
		carrier.heirLeaves()
		return carried
	}
	prev := carrier.prev.Load()
	// Resolved now, so that spans which follow each other from goroutine to
	// goroutine do not pin a chain of ended ones.
	if resolved := live(prev); resolved != prev {
		prev = resolved
		carrier.prev.Store(prev)
	}
	carried := carrier.takeOffDescendants(prev) || carrier.takeOff(false, prev)
	// The time is taken when the labels are off the goroutine: samples that are taken
	// with them on it are the span's.
	carrier.ended.Store(goruntime.Nanotime())
	return carried
}

// takeOffDescendants gives the descendants up that the span of b, an origin, has on its
// goroutine, where it is the outermost of its local root there: a program may forget to
// end them. It puts what prev leads to on the goroutine, and reports whether it did so:
// not where the span ends on another goroutine.
//
// Spans of other local roots that started since, and are open, keep their labels: what
// prev leads to comes back when they end.
func (b *labelBlock) takeOffDescendants(prev *labelMap) bool {
	carried := goruntime.GoroutineLabels()
	if carried == &b.current().maps[ownMap] && !b.heirs.anyNested() {
		putLabels(carried, live(prev))
		return true // as nearly always
	}
	if b.flags&outermost == 0 || b.goroutine != goruntime.Goroutine() {
		return false
	}
	var other *labelBlock // the one right above b and its descendants
	at := blockOf(carried)
	for ; at != nil && at.origin != b; at = blockOf(at.origin.prev.Load()) {
		// One that has ended keeps what came back when it did, for samples from then on.
		if o := at.origin; o.localRoot() != b.localRoot() && (!o.hasEnded() || o.heirs.any()) {
			other = o
		}
	}
	if at == nil {
		return false
	}
	top := blockOf(carried)
	forgotten := b.heirs.giveUpNested() && top.origin == b
	for at := top; at != nil && at.origin != b; at = blockOf(at.origin.prev.Load()) {
		if at.origin.localRoot() == b.localRoot() {
			forgotten = at.origin.heirs.giveUpNested() && at == top || forgotten
			at.origin.endNow()
		}
	}
	slot := top.slot(carried)
	switch {
	case other != nil:
		other.prev.Store(live(prev))
		runtimeLabeler{}.settle()
	case slot == copiedMap:
		// Within a pprof.Do, which takes its labels off itself.
	case slot == heirMap && top.origin.heirs.any() && !forgotten:
		// Within a Do, which does so too.
	default:
		putLabels(carried, live(prev))
	}
	return true
}

// givenUp reports whether s needs no End for its labels any more: it has ended, or another
// span has given it up or taken it over.
func (runtimeLabeler) givenUp(s *spanState) bool {
	switch {
	case s.carrier == nil:
		return false
	case s.heir:
		return s.nested && s.carrier.heirs.closed()
	default:
		return s.carrier.hasEnded()
	}
}

// takeOff puts what prev leads to on the goroutine where it carries the labels of b, an
// origin, for the span that ends: for an heir or for the owner of b. It reports whether
// the goroutine carries those labels, or goes back to them.
func (b *labelBlock) takeOff(heir bool, prev *labelMap) bool {
	carried := goruntime.GoroutineLabels()
	for m := carried; ; {
		at := blockOf(m)
		if at == nil {
			break
		}
		slot := at.slot(m)
		if at.origin == b && b.endsWith(slot, heir) {
			putLabels(carried, live(prev))
			return true
		}
		if !at.origin.hasEnded() || slot == heirMap && at.origin.heirs.any() {
			break
		}
		// A descendant that ended elsewhere has left its labels here.
		m = at.origin.prev.Load()
	}
	return coveredBy(carried, b)
}

// endsWith reports whether a goroutine with the labels of a slot carries them
// for the span that ends, an heir or the owner of b, and not for another.
func (b *labelBlock) endsWith(slot int, heir bool) bool {
	switch slot {
	case ownMap:
		return !heir
	case heirMap:
		return heir || !b.heirs.any()
	default:
		return false // within a pprof.Do, which takes its labels off itself
	}
}

// abandon leaves the labels to the next Start or End on the goroutine, which puts
// those of no span that has ended back, or to settle.
func (runtimeLabeler) abandon(s *spanState) {
	switch {
	case s.ended.Swap(true):
	case !s.heir:
		s.carrier.endNow()
	default:
		s.leaveHeir()
	}
}

func (runtimeLabeler) settle() {
	carried := goruntime.GoroutineLabels()
	putLabels(carried, live(carried))
}

// coveredBy reports whether m carries b's labels, or they will come back when
// the spans end whose labels cover them on this goroutine.
func coveredBy(m *labelMap, b *labelBlock) bool {
	for m != nil {
		if carries(m, b) {
			return true
		}
		cover := blockOf(m)
		if cover == nil {
			return false
		}
		m = cover.origin.prev.Load()
	}
	return false
}
