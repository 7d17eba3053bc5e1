// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// Name is the sum of the spans of one name in one service.
type Name struct {
	store.NameTotal
	// Query selects the profile of the name, "" if no query selects it alone: samples carry a
	// label that several names may share.
	Query string `json:"query"`
}

// maxGroups bounds the list of names. Package spanprof labels 256 of them.
const maxGroups = 256

// names returns the names with most CPU time, and how many are left out. No query selects spans
// without a name.
func (r *Reader) names() (rows []Name, omitted int) {
	type label struct{ service, name string }
	names := map[label]int{} // the number of names of a label
	for _, t := range r.nameTotals() {
		if t.Spans > 0 { // the earlier name of a renamed span has samples only
			names[label{t.Service, t.Label}]++
		}
	}
	rows = []Name{}
	for _, t := range r.nameTotals() {
		switch {
		case t.Name == "":
			continue
		case len(rows) == maxGroups:
			omitted++
			continue
		}
		row := Name{NameTotal: t}
		// Without a sample only the name is known.
		of := cmp.Or(t.Label, t.Name)
		if of == t.Name || names[label{t.Service, of}] == 1 {
			row.Query = r.services().query(t.Service).OfType(r.cpuType()).WithEqual(labelkey.SpanName, of).String()
		}
		rows = append(rows, row)
	}
	return rows, omitted
}
