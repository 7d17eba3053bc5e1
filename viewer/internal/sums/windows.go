// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums

import (
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// End returns the end of a window.
func End(w store.WindowInfo) time.Time { return w.Start.Add(w.Duration) }

// In returns the windows of a kind that overlap [from, until); zero times mean no bound.
func In(windows []store.WindowInfo, kind exporter.Kind, from, until time.Time) (list []store.WindowInfo) {
	for _, w := range windows {
		last := End(w)
		if w.Duration == 0 {
			last = last.Add(1) // a snapshot
		}
		if w.Kind == kind && (from.IsZero() || last.After(from)) && (until.IsZero() || w.Start.Before(until)) {
			list = append(list, w)
		}
	}
	return list
}
