// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"
	"unsafe"
)

// idEntry is what is known of one value of profile_id and span_id.
type idEntry struct {
	id string
	// groups are in the order of the windows.
	groups []*group
	// spans is the number of groups with this span_id.
	spans   int
	cpu     time.Duration
	samples int64
}

// label returns the span_name of the newest samples that have one: of the span's
// own, or else of those that only name it as their profile.
func (e *idEntry) label() (label string) {
	for _, g := range slices.Backward(e.groups) {
		name := g.labels.get(spanNameLabel)
		if name != "" && g.spanID == e.id {
			return name
		}
		label = orElse(label, name)
	}
	return label
}

// cost is the memory of an entry without its groups.
func (e *idEntry) cost() int64 {
	return allocSize(int64(unsafe.Sizeof(*e))) + allocSize(int64(len(e.id))) + slotSize(stringSize+pointerSize)
}
