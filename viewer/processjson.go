// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "slices"

// processJSON is a profile of the whole process.
type processJSON struct {
	// Measure says in words what the profile is of.
	Measure string `json:"measure"`
	Query   string `json:"query"`
}

// process lists the profiles that the store has windows of. Objects are left
// out: their graphs are those of bytes in other proportions.
func (h *handler) process() []processJSON {
	list := []processJSON{}
	for _, name := range []string{"cpu", "inuse_space", "alloc_space"} {
		t, _ := profileTypeByName(name)
		if slices.Contains(h.store.SampleTypes(t.kind), t.sampleType) {
			list = append(list, processJSON{Measure: t.words, Query: flameQL{typ: t}.String()})
		}
	}
	return list
}
