// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"

	"github.com/spanprof/spanprof/store"
)

// maxGroups bounds the list of names: a program may put ids into them.
const maxGroups = 500

// groupJSON is the sum of the spans of one name.
type groupJSON struct {
	Name    string `json:"name"`
	Service string `json:"service"`
	Spans   int    `json:"spans"`
	Errors  int    `json:"errors"`
	WallNs  int64  `json:"wallNs"`
	// MaxWallNs is the wall time of the slowest.
	MaxWallNs int64 `json:"maxWallNs"`
	CPUNs     int64 `json:"cpuNs"`
	// Query is the FlameQL query for the profile of the name.
	Query string `json:"query"`
}

func newGroupJSON(t store.NameTotal, held services) groupJSON {
	return groupJSON{
		Name:      t.Name,
		Service:   t.Service,
		Spans:     t.Spans,
		Errors:    t.Errors,
		MaxWallNs: t.MaxDuration.Nanoseconds(),
		WallNs:    t.Duration.Nanoseconds(),
		CPUNs:     t.CPU.Nanoseconds(),
		// Without a sample nothing is known but the name.
		Query: held.query(t.Service).with("span_name", cmp.Or(t.Label, t.Name)).String(),
	}
}
