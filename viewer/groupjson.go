// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"

	"github.com/spanprof/spanprof/internal/labelkey"
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
	// Label is the span_name of Query where it is not Name but what samples
	// carry instead. LabelNames is how many names of the service have spans
	// with that label: of more than one, Query selects the work of all.
	Label      string `json:"label,omitempty"`
	LabelNames int    `json:"labelNames,omitempty"`
}

func newGroupJSON(t store.NameTotal, held services, labels labelNames) groupJSON {
	// Without a sample nothing is known but the name.
	label := cmp.Or(t.Label, t.Name)
	g := groupJSON{
		Name:      t.Name,
		Service:   t.Service,
		Spans:     t.Spans,
		Errors:    t.Errors,
		MaxWallNs: t.MaxDuration.Nanoseconds(),
		WallNs:    t.Duration.Nanoseconds(),
		CPUNs:     t.CPU.Nanoseconds(),
		Query:     held.query(t.Service).with(labelkey.SpanName, label).String(),
	}
	if label != t.Name {
		g.Label, g.LabelNames = label, labels[serviceLabel{t.Service, label}]
	}
	return g
}
