// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums

import (
	"slices"
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

// Windows is the sum of the windows of one kind, service, version and process.
type Windows struct {
	Kind    string    `json:"kind"`
	Service string    `json:"service"`
	Version string    `json:"version,omitempty"`
	Count   int       `json:"windows"`
	Samples int64     `json:"samples"`
	Bytes   int64     `json:"bytes"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	// Process left the windows in a directory, nil for this process.
	Process *store.Process `json:"earlier,omitempty"`
}

// ByKind sums windows, in the order of the first of each sum.
func ByKind(windows []store.WindowInfo) []Windows {
	list := []Windows{}
	for _, w := range windows {
		i := slices.IndexFunc(list, func(k Windows) bool {
			return Same(k.Process, w.Earlier) && k.Kind == string(w.Kind) && k.Service == w.Service && k.Version == w.ServiceVersion
		})
		if i < 0 {
			i = len(list)
			list = append(list, Windows{Kind: string(w.Kind), Service: w.Service, Version: w.ServiceVersion, Process: w.Earlier, From: w.Start})
		}
		k := &list[i]
		k.Count++
		k.Samples += w.Samples
		k.Bytes += w.Bytes
		if end := End(w); end.After(k.Until) {
			k.Until = end
		}
	}
	return list
}

// Same reports whether two processes are one; nil is this process.
func Same(a, b *store.Process) bool {
	return a == b || a != nil && b != nil && a.Started.Equal(b.Started) && a.PID == b.PID
}
