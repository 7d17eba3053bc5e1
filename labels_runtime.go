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
		case slot == heirMap && b.origin.heirs.any():
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
	b := &labelBlock{goroutine: goruntime.Goroutine(), flags: outermost}
	b.origin = b
	if s.byProcessor {
		b.flags |= byProcessor
	}
	if s.root == s {
		s.encodeIDs(&b.hex)
	} else {
		s.encodeLabelID(&b.hex)
		copy(b.hex[16:], s.root.carrier.hex[16:]) // of the same trace
	}
	p := blockOf(found)
	if p == nil || p.flags&byProcessor == 0 || p.hex != b.hex {
		p = nil
	} else {
		p.endNow() // a SpanProcessor's, of the same span
	}
	prev := live(found)
	if s.root != s {
		b.root.Store(s.root.carrier)
		if b.continues(prev) {
			b.flags &^= outermost
		}
	}
	if prev != nil {
		b.cover(prev)
	}
	if p != nil {
		p.prev.Store(&b.maps[ownMap]) // where the span goes on
	}
	own := s.appendLabels(b.inline[:0], &blockIDKeys, b.ids(), name)
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
	if s.root == s {
		goruntime.SetLabels(&b.maps[ownMap]) // markTrace follows
	} else {
		putLabels(found, &b.maps[ownMap])
	}
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
	under = under.origin
	if b.depth = under.depth + 1; b.depth <= maxDepth {
		return
	}
	kept := map[*labelBlock]bool{b: true}
	for b.depth = 1; b.depth < maxDepth/2; b.depth++ {
		kept[under] = true
		next := blockOf(live(under.prev.Load()))
		if next == nil {
			return // spans under prev have ended since
		}
		under = next.origin
	}
	bottom := live(under.prev.Load())
	for at := blockOf(bottom); at != nil; at = blockOf(bottom) {
		bottom = live(at.origin.prev.Load())
	}
	under.prev.Store(bottom)
	for at := range kept {
		// A local root of this goroutine that is not kept is not held by others.
		if root := at.localRoot(); root.goroutine == at.goroutine && !kept[root] {
			at.root.Store(nil)
		}
	}
}

// continues reports whether prev are labels of a span with the same local root as b.
func (b *labelBlock) continues(prev *labelMap) bool {
	if under := blockOf(prev); under != nil && under.origin.localRoot() == b.localRoot() {
		return true
	}
	l := prev.Find(LabelTraceID)
	return l != nil && l.Value == b.ids()[16:]
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
		if c := copiedFrom(found); c != nil {
			s.inheritFrom(c)
			s.copied = true
		}
	case b.origin.flags&byProcessor != 0 && !s.byProcessor:
		runtimeLabeler{}.start(ctx, s, root.current().name())
	default:
		s.inheritFrom(b.origin)
		s.found = found
		goruntime.SetLabels(&b.current().maps[heirMap])
	}
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

func (runtimeLabeler) name(s *spanState) string { return s.carrier.current().name() }

func (runtimeLabeler) profileID(s *spanState) string { return s.carrier.ids()[:16] }

func (runtimeLabeler) hasUserLabels(s *spanState) bool {
	return len(s.carrier.maps[ownMap].List) > int(s.carrier.own)
}

func (runtimeLabeler) contextValue(s *spanState) any {
	switch {
	case s.carrier == nil || s.copied:
		return s.ctx.Context.Value(pprofLabelsKey)
	case s.heir:
		return goruntime.ContextValue(&s.carrier.current().maps[heirMap])
	default:
		return goruntime.ContextValue(&s.carrier.current().maps[ownMap])
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
