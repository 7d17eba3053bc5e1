// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import "github.com/spanprof/spanprof/internal/livelabels"

// heldAtHook is a variable so that all providers register the same pointer.
var heldAtHook livelabels.Hook = heldAt

// heldAt is what livelabels.At documents, for a set that is not nil.
func heldAt(set *labelMap, nanotime int64) (held *labelMap, endedSpanID string) {
	held = set
	for b := blockOf(held); b != nil && !b.origin.heldAt(b.slot(held), nanotime); b = blockOf(held) {
		held = b.origin.prev.Load()
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
	return held, endedSpanID
}

// heldAt reports whether the labels of an origin held at a time, on a goroutine
// that carries them in a slot.
func (b *labelBlock) heldAt(slot int, nanotime int64) bool {
	if slot == heirMap && (b.heirs.Load() > 0 || nanotime <= b.left.Load()) {
		return true
	}
	if ended := b.ended.Load(); ended == 0 || nanotime <= ended {
		return true
	}
	// In root scope the labels of a child are those of its local root, which
	// goes on: so do they, on the goroutines that the child has started.
	return b.root != b && b.hex == b.root.hex && b.root.heldAt(ownMap, nanotime)
}

// spanIDOf returns the value of LabelSpanID, "" where there is none.
func spanIDOf(m *labelMap) string {
	if l := m.Find(LabelSpanID); l != nil {
		return l.Value
	}
	return ""
}
