// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "unsafe"

// labelling is what groups of a window may have in common: their labels, and
// how they name their span.
type labelling struct {
	set   *labelSet
	form  idForm
	texts *idTexts
}

// idForm says which labels hold the span of a group.
type idForm uint8

const (
	// noIDs: the group has neither profile_id nor span_id.
	noIDs idForm = iota
	// bothIDs: profile_id and span_id are the span's id.
	bothIDs
	// spanIDOnly and profileIDOnly: one of them is, and the other is not
	// there.
	spanIDOnly
	profileIDOnly
	// textIDs: the ids are in texts, as they differ from each other or are
	// not what OpenTelemetry calls an id.
	textIDs
)

// idTexts are the ids of a group as they were written.
type idTexts struct {
	profileID, spanID, traceID string
}

func (t *idTexts) size() int64 {
	return allocSize(int64(unsafe.Sizeof(*t))) + allocSize(int64(len(t.profileID))) +
		allocSize(int64(len(t.spanID))) + allocSize(int64(len(t.traceID)))
}
