// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// runtimeLabeler reads and writes the labels of the calling goroutine by the
// runtime's own hooks, and hands it label sets that were made here. Only by
// reading can End tell whether the goroutine carries the span's labels, and put
// back what was there.
type runtimeLabeler struct{}

var _ labeler = runtimeLabeler{}

// live returns m, or where m belongs to a span that has ended, what the
// goroutine carried before that span, and where the span has another name now,
// the labels of that name.
func live(m *labelMap) *labelMap {
	for {
		b := blockOf(m)
		if b == nil {
			return m
		}
		slot := b.slot(m)
		switch {
		case slot == heirMap && b.origin.heirs.Load() > 0:
			return &b.current().maps[heirMap]
		case b.origin.hasEnded():
			m = b.origin.prev.Load()
		case slot == copiedMap:
			return m
		default:
			return &b.current().maps[ownMap]
		}
	}
}

func (runtimeLabeler) start(ctx context.Context, s *spanState, name string) {
	found := goruntime.GoroutineLabels()
	b := &labelBlock{byProcessor: s.byProcessor}
	b.origin, b.root = b, b
	if s.root != s {
		b.root = s.root.carrier
	}
	s.encodeIDs(&b.hex)
	p := blockOf(found)
	if p == nil || !p.byProcessor || p.hex != b.hex {
		p = nil
	} else {
		p.endNow() // a SpanProcessor's, of the same span
	}
	if prev := live(found); prev != nil {
		b.cover(prev)
	}
	if p != nil {
		p.prev.Store(&b.maps[ownMap]) // where the span goes on
	}
	own := s.appendLabels(b.inline[:0], b.ids(), name)
	b.own = uint8(len(own))

	inContext := goruntime.ContextLabels(ctx)
	if inContext == found {
		inContext = nil
	}
	if hasUserLabels(found) || hasUserLabels(inContext) {
		b.setList(withUserLabels(own, found, inContext))
	} else {
		b.setList(own)
	}
	s.carrier = b
	goruntime.SetLabels(&b.maps[ownMap])
}

// cover makes b go back to prev when its span ends. Where the chain of blocks
// under prev has become too long it is cut in half, so that not every Start has to
// walk it: the last block that is kept goes back to what was on the goroutine
// before all of them.
func (b *labelBlock) cover(prev *labelMap) {
	b.prev.Store(prev)
	under := blockOf(prev)
	if under == nil {
		return
	}
	if b.depth = under.depth + 1; b.depth <= maxDepth {
		return
	}
	b.depth = 1
	for ; b.depth < maxDepth/2; b.depth++ {
		next := blockOf(live(under.origin.prev.Load()))
		if next == nil {
			return // spans under prev have ended since
		}
		under = next
	}
	bottom := live(under.origin.prev.Load())
	for at := blockOf(bottom); at != nil; at = blockOf(bottom) {
		bottom = live(at.origin.prev.Load())
	}
	under.origin.prev.Store(bottom)
}

func (runtimeLabeler) inherit(ctx context.Context, s *spanState) {
	root := s.root.carrier
	found := goruntime.GoroutineLabels()
	b := blockOf(found)
	switch {
	case !carries(found, root), !hasUserLabelsOf(found, goruntime.ContextLabels(ctx)):
		runtimeLabeler{}.start(ctx, s, root.current().name())
	case b == nil:
		// A pprof.Do within the root added labels of the user's: they are
		// on the goroutine and in ctx, and its return takes them off.
	case b.byProcessor && !s.byProcessor:
		runtimeLabeler{}.start(ctx, s, root.current().name())
	default:
		s.carrier, s.heir, s.found = b.origin, true, found
		goruntime.SetLabels(b.enterHeir())
	}
}

// enterHeir counts an heir and returns the labels for it.
func (b *labelBlock) enterHeir() *labelMap {
	b.origin.heirs.Add(1)
	return &b.current().maps[heirMap]
}

// leaveHeir takes an heir off the count. It keeps the time where the span has ended: until
// then the labels held on the goroutines that the heir started.
func (b *labelBlock) leaveHeir() {
	if b.hasEnded() {
		b.left.Store(goruntime.Nanotime())
	}
	b.heirs.Add(-1)
}

func (runtimeLabeler) rename(s *spanState, name string) {
	old := s.carrier.current()
	b := &labelBlock{own: old.own, origin: old.origin}
	list := b.inline[:0]
	labels := old.maps[ownMap].List
	if len(labels)+1 >= cap(list) {
		list = make([]label, 0, len(labels)+2)
	}
	for _, l := range labels {
		if l.Key == LabelSpanName {
			b.own--
		} else {
			list = append(list, l)
		}
	}
	if name != "" {
		b.own++
		at, _ := slices.BinarySearchFunc(list, LabelSpanName, func(l label, key string) int { return strings.Compare(l.Key, key) })
		list = slices.Insert(list, at, label{Key: LabelSpanName, Value: name})
	}
	b.setList(list)
	b.origin.latest.Store(b)

	carried := goruntime.GoroutineLabels()
	if c := blockOf(carried); c != nil && c.origin == b.origin {
		goruntime.SetLabels(&b.maps[min(c.slot(carried), heirMap)])
	}
}

func (runtimeLabeler) end(s *spanState) bool {
	carrier := s.carrier
	switch {
	case carrier == nil:
		return true
	case s.heir:
		carrier.leaveHeir()
		return carrier.takeOff(true, s.found)
	case carrier.hasEnded():
		return true // a TracerProvider has taken the span over
	}
	prev := carrier.prev.Load()
	// Resolved now, so that spans which follow each other from goroutine to
	// goroutine do not pin a chain of ended ones.
	if resolved := live(prev); resolved != prev {
		prev = resolved
		carrier.prev.Store(prev)
	}
	carried := carrier.takeOff(false, prev)
	// The time is taken when the labels are off the goroutine: samples that are taken
	// with them on it are the span's.
	carrier.ended.Store(goruntime.Nanotime())
	return carried
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
			goruntime.SetLabels(live(prev))
			return true
		}
		if !at.origin.hasEnded() || slot == heirMap && at.origin.heirs.Load() > 0 {
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
		return heir || b.heirs.Load() == 0
	default:
		return false // within a pprof.Do, which takes its labels off itself
	}
}

// abandon leaves the labels to the next Start or End on the goroutine, which puts
// those of no span that has ended back, or to settle.
func (runtimeLabeler) abandon(s *spanState) {
	switch {
	case s.ended.Swap(true):
	case s.heir:
		s.carrier.leaveHeir()
	default:
		s.carrier.endNow()
	}
}

func (runtimeLabeler) settle() { goruntime.SetLabels(live(goruntime.GoroutineLabels())) }

func (runtimeLabeler) name(s *spanState) string { return s.carrier.current().name() }

func (runtimeLabeler) profileID(s *spanState) string { return s.carrier.ids()[:16] }

func (runtimeLabeler) hasUserLabels(s *spanState) bool {
	return len(s.carrier.maps[ownMap].List) > int(s.carrier.own)
}

func (runtimeLabeler) contextValue(s *spanState) any {
	switch {
	case s.carrier == nil:
		return s.ctx.Context.Value(pprofLabelsKey)
	case s.heir:
		return goruntime.ContextValue(&s.carrier.current().maps[heirMap])
	default:
		return goruntime.ContextValue(&s.carrier.current().maps[ownMap])
	}
}

func (runtimeLabeler) enter(ctx context.Context) (leave func()) {
	found, entered := goruntime.GoroutineLabels(), goruntime.ContextLabels(ctx)
	if entered == nil {
		return func() { goruntime.SetLabels(live(found)) }
	}
	if entered != found && hasUserLabels(found) {
		// The ids of a span on the goroutine are not the user's.
		var own []label
		for _, l := range entered.List {
			if isSpanLabel(l.Key) {
				own = append(own, l)
			}
		}
		entered = &labelMap{List: withUserLabels(own, found, entered)}
	}
	b := blockOf(entered)
	if b == nil {
		goruntime.SetLabels(entered)
		return func() { goruntime.SetLabels(live(found)) }
	}
	// An heir, so that the labels stay when spans within end, though the span
	// that they belong to may have ended.
	goruntime.SetLabels(b.enterHeir())
	return func() {
		b.origin.leaveHeir()
		goruntime.SetLabels(live(found))
	}
}

// setList makes list, which has room for one label more, the labels of b.
func (b *labelBlock) setList(list []label) {
	list = append(list, goruntime.Mark(b))[:len(list)]
	b.maps[ownMap].List = list
	b.maps[heirMap].List = list
}

// carries reports whether m has the ids of b's labels.
func carries(m *labelMap, b *labelBlock) bool {
	if m == nil {
		return false
	}
	if c := blockOf(m); c != nil && c.origin == b.origin {
		return true
	}
	own := &b.maps[ownMap]
	return sameValue(m, own, LabelTraceID) && sameValue(m, own, LabelSpanID)
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
