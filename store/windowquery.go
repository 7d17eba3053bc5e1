// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// WindowQuery selects windows. The zero value selects all.
type WindowQuery struct {
	// Kind and Service, if not empty, select the windows of one kind and of
	// one service.name.
	Kind    exporter.Kind
	Service string
	// From and Until select the windows that overlap [From, Until); a zero
	// time leaves that side open.
	From, Until time.Time
}

func (q *WindowQuery) matches(w *window) bool {
	return (q.Kind == "" || q.Kind == w.kind) && (q.Service == "" || q.Service == w.service) && w.overlaps(q.From, q.Until)
}
