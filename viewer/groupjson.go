// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/store"
)

// groupJSON is the sum of the spans of one name.
type groupJSON struct {
	Name    string `json:"name"`
	Service string `json:"service"`
	Spans   int    `json:"spans"`
	WallNs  int64  `json:"wallNs"`
	CPUNs   int64  `json:"cpuNs"`
	// Query is the FlameQL query for the profile of the name.
	Query string `json:"query"`
}

// groups sums spans by service and name.
func groups(spans []store.Span) []groupJSON {
	type key struct{ service, name string }
	sums := map[key]*groupJSON{}
	for _, s := range spans {
		if s.Name == "" {
			// Manual exemplars need no name, and have nothing in common.
			continue
		}
		k := key{s.Service, s.Name}
		g, ok := sums[k]
		if !ok {
			g = &groupJSON{
				Name:    s.Name,
				Service: s.Service,
				Query:   newFlameQL(s.Service).with("span_name", labelValue(s.Name)).String(),
			}
			sums[k] = g
		}
		g.Spans++
		g.WallNs += s.Duration.Nanoseconds()
		g.CPUNs += s.CPU.Nanoseconds()
	}
	list := make([]groupJSON, 0, len(sums))
	for _, g := range sums {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b groupJSON) int {
		return cmp.Or(cmp.Compare(b.CPUNs, a.CPUNs), cmp.Compare(b.WallNs, a.WallNs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return list
}

// maxLabelBytes is the length to which span names are cut on samples.
const maxLabelBytes = 128

// labelValue returns a span's name as samples carry it by default: cut on a
// rune boundary.
func labelValue(name string) string {
	if len(name) <= maxLabelBytes {
		return name
	}
	cut := 0
	for i := range name {
		if i > maxLabelBytes {
			break
		}
		cut = i
	}
	return name[:cut]
}
