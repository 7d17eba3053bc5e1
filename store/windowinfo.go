// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// WindowInfo is what the store knows of a window that it holds: one profile as
// it was taken in.
type WindowInfo struct {
	Kind exporter.Kind
	// Service and ServiceVersion are service.name and service.version of the
	// profile's resource.
	Service, ServiceVersion string
	// Start is when the window began, Duration how long it went on; 0 for a
	// snapshot.
	Start    time.Time
	Duration time.Duration
	// Samples is the number of samples taken, Bytes the memory of the window
	// without what it shares with others.
	Samples, Bytes int64
}

func (w *window) info() WindowInfo {
	return WindowInfo{
		Kind:           w.kind,
		Service:        w.service,
		ServiceVersion: w.version,
		Start:          w.start,
		Duration:       w.end.Sub(w.start),
		Samples:        w.samples,
		Bytes:          w.bytes,
	}
}

func (h *held) infos(q WindowQuery) []WindowInfo {
	var infos []WindowInfo
	for _, w := range h.windows {
		if q.matches(w) {
			infos = append(infos, w.info())
		}
	}
	slices.SortStableFunc(infos, func(a, b WindowInfo) int { return a.Start.Compare(b.Start) })
	return infos
}
