// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import "github.com/spanprof/spanprof/internal/livelabels"

// heldAtHook is a variable so that all providers register the same pointer.
var heldAtHook livelabels.Hook = heldAt

// heldAt is what livelabels.At documents, for a set that is not nil.
func heldAt(set *labelMap, nanotime int64) (held *labelMap, endedSpanID string) {
	held = set
	for {
		b, slot := ownerOf(held)
		if b == nil || b.heldAt(slot, nanotime) {
			break
		}
		held = b.prev.Load()
	}
	if held == set {
		return set, ""
	}
	endedSpanID = spanIDOf(set)
	if spanIDOf(held) == endedSpanID {
		endedSpanID = "" // a child, in root scope: the span that is labelled goes on
	}
	if b := blockOf(held); b != nil {
		if slot := b.slot(held); slot != copiedMap {
			held = &b.current().maps[slot]
		}
	}
	if b := blockOf(set); b == nil {
		// What a pprof.Do has added is not the span's.
		held = &labelMap{List: withUserLabels(spanLabelsOf(held), held, set)}
	}
	return held, endedSpanID
}

// ownerOf returns the origin that has the labels of m, and in which slot.
func ownerOf(m *labelMap) (b *labelBlock, slot int) {
	if b := blockOf(m); b != nil {
		return b.origin, b.slot(m)
	}
	return copiedFrom(m), copiedMap
}

// spanLabelsOf returns the labels of m that are spanprof's.
func spanLabelsOf(m *labelMap) []label {
	var own []label
	for _, l := range m.Labels() {
		if isSpanLabel(l.Key) {
			own = append(own, l)
		}
	}
	return own
}

// heldAt reports whether the labels of an origin held at a time, on a goroutine
// that carries them in a slot.
func (b *labelBlock) heldAt(slot int, nanotime int64) bool {
	if slot != ownMap && (b.heirs.any() || nanotime <= b.left.Load()) {
		return true
	}
	if ended := b.ended.Load(); ended == 0 || nanotime <= ended {
		return true
	}
	// In root scope the labels of a child are those of its local root, which
	// goes on: so do they, on the goroutines that the child has started.
	root := b.localRoot()
	return root != b && root.hex == b.hex && root.heldAt(ownMap, nanotime)
}

// spanIDOf returns the value of LabelSpanID, "" where there is none.
func spanIDOf(m *labelMap) string {
	if l := m.Find(LabelSpanID); l != nil {
		return l.Value
	}
	return ""
}
