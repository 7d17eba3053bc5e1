// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"
	"time"

	"github.com/spanprof/spanprof/store"
)

// windowsJSON sums the windows held of one kind, service and version.
type windowsJSON struct {
	Kind    string    `json:"kind"`
	Service string    `json:"service"`
	Version string    `json:"version,omitempty"`
	Windows int       `json:"windows"`
	Samples int64     `json:"samples"`
	Bytes   int64     `json:"bytes"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
}

// windowsByKind sums windows, in the order of their first.
func windowsByKind(windows []store.WindowInfo) []windowsJSON {
	list := []windowsJSON{}
	for _, w := range windows {
		i := slices.IndexFunc(list, func(k windowsJSON) bool {
			return k.Kind == string(w.Kind) && k.Service == w.Service && k.Version == w.ServiceVersion
		})
		if i < 0 {
			i = len(list)
			list = append(list, windowsJSON{Kind: string(w.Kind), Service: w.Service, Version: w.ServiceVersion, From: w.Start})
		}
		k := &list[i]
		k.Windows++
		k.Samples += w.Samples
		k.Bytes += w.Bytes
		if end := w.Start.Add(w.Duration); end.After(k.Until) {
			k.Until = end
		}
	}
	return list
}
