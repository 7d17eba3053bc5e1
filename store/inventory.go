// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
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

// KindTotal says that profiles of a kind have samples that a query selects.
type KindTotal struct {
	Kind exporter.Kind
	// Samples is their number, Windows that of the windows with any of them.
	Samples int64
	Windows int
}

func (h *held) kindTotals(q Query) []KindTotal {
	var totals []KindTotal
	for _, m := range q.matches(slices.Values(h.kept), slices.Values(h.windows)) {
		samples := int64(0)
		for g := range m.groups() {
			samples += g.count()
		}
		if samples == 0 {
			continue
		}
		i := slices.IndexFunc(totals, func(t KindTotal) bool { return t.Kind == m.window.kind })
		if i < 0 {
			i = len(totals)
			totals = append(totals, KindTotal{Kind: m.window.kind})
		}
		totals[i].Samples += samples
		totals[i].Windows++
	}
	slices.SortFunc(totals, func(a, b KindTotal) int { return cmp.Compare(a.Kind, b.Kind) })
	return totals
}
