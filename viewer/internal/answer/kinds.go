// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
)

// Kind is a profile of one type that meets the conditions of a query.
type Kind struct {
	// Type is the profile type in Query, Label its short name.
	Type  string `json:"type"`
	Label string `json:"label"`
	// Measure describes the values.
	Measure string `json:"measure"`
	// Samples counts the samples of the profile's kind.
	Samples int64  `json:"samples"`
	Query   string `json:"query"`
	// Service is set in a list of profiles of several services.
	Service string `json:"service,omitempty"`
}

// kinds lists the types of profiles that have samples for the conditions of q. The type of q
// and CPU time are always listed, minor types only if q is of one.
func (r *Reader) kinds(q Query) []Kind {
	totals := map[exporter.Kind]int64{}
	for _, t := range r.totals(q) {
		totals[t.Kind] = t.Samples
	}
	list := []Kind{}
	cpu := r.cpuType()
	for _, t := range flameql.Types {
		total := totals[t.Kind]
		if t != q.Type && t != cpu && (total == 0 || t.Minor) {
			continue
		}
		other := q.Query
		other.Type = t
		list = append(list, Kind{Type: t.Name, Label: t.Label, Measure: t.Words, Samples: total, Query: other.String()})
	}
	return list
}

// maxServices bounds the services with profiles in the list of a page.
const maxServices = 100

// process lists the profiles of the whole process, or of each process if there are several
// services: of the first hundred by name. Types without a sample are left out.
func (r *Reader) process(held services) []Kind {
	list := []Kind{}
	if held.several() {
		for _, service := range held[:min(maxServices, len(held))] {
			for _, k := range r.kinds(r.resolve(Query{Query: held.query(service)})) {
				k.Service = service
				list = append(list, k)
			}
		}
	} else {
		list = r.kinds(Query{Query: flameql.Query{Type: flameql.CPU}})
	}
	return slices.DeleteFunc(list, func(k Kind) bool { return k.Samples == 0 })
}
