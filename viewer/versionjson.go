// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"
	"time"

	"github.com/spanprof/spanprof/store"
)

// versionJSON is a version of a service that profiles were taken of.
type versionJSON struct {
	Service string    `json:"service"`
	Version string    `json:"version"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	// Query is the FlameQL query for the profile of the version.
	Query string `json:"query"`
}

// versions lists the versions that there are profiles of the query's type of, in
// the order of their first window.
func (h *handler) versions(asked query) []versionJSON {
	list := []versionJSON{}
	for _, w := range h.store.Windows(store.WindowQuery{Kind: asked.typ.kind, Service: asked.service}) {
		end := w.Start.Add(w.Duration)
		i := slices.IndexFunc(list, func(v versionJSON) bool { return v.Service == w.Service && v.Version == w.ServiceVersion })
		if i < 0 {
			q := newFlameQL(w.Service)
			q.typ = asked.typ
			q = q.with("service_name", w.Service).with("service_version", w.ServiceVersion)
			list = append(list, versionJSON{Service: w.Service, Version: w.ServiceVersion, From: w.Start, Until: end, Query: q.String()})
			continue
		}
		if end.After(list[i].Until) {
			list[i].Until = end
		}
	}
	return list
}
