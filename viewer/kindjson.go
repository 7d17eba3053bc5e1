// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "github.com/spanprof/spanprof/store"

// kindJSON is a profile that meets some conditions, of one of the types that
// there are.
type kindJSON struct {
	// Type is what the query's name ends in, Label what the page calls it.
	Type  string `json:"type"`
	Label string `json:"label"`
	// Measure says in words what the profile is of.
	Measure string `json:"measure"`
	// Samples counts the samples of the profile's kind.
	Samples int64  `json:"samples"`
	Query   string `json:"query"`
	// Service is whose profile it is, in a list of the profiles of several
	// services.
	Service string `json:"service,omitempty"`
}

// kinds lists the types of profiles that have samples for the conditions of q,
// that of q itself, and CPU, so that there is a way back to it. Objects are left
// out unless q asks for them: their graphs are those of bytes in other
// proportions.
func (h *handler) kinds(q query) []kindJSON {
	asked := q.store()
	asked.Kind, asked.SampleType = "", ""
	totals := map[string]store.KindTotal{}
	for _, t := range h.store.Kinds(asked) {
		totals[string(t.Kind)] = t
	}
	list := []kindJSON{}
	for _, t := range profileTypes {
		total := totals[string(t.kind)]
		if t != q.typ && t != profileTypes[0] && (total.Samples == 0 || t.minor) {
			continue
		}
		other := q.flameQL
		other.typ = t
		list = append(list, kindJSON{Type: t.name, Label: t.label, Measure: t.words, Samples: total.Samples, Query: other.String()})
	}
	return list
}
