// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"strings"

	"github.com/spanprof/spanprof/exporter"
)

// profileType is what a FlameQL name may end in.
type profileType struct {
	name       string
	kind       exporter.Kind
	sampleType string
}

// profileTypes are the known types. The first is meant where a query names
// none.
var profileTypes = []profileType{
	{"cpu", exporter.KindCPU, "cpu"},
	{"alloc_space", exporter.KindHeap, "alloc_space"},
	{"alloc_objects", exporter.KindHeap, "alloc_objects"},
	{"inuse_space", exporter.KindHeap, "inuse_space"},
	{"inuse_objects", exporter.KindHeap, "inuse_objects"},
	{"wall", exporter.KindWall, "wall"},
}

func profileTypeByName(name string) (profileType, bool) {
	for _, t := range profileTypes {
		if t.name == name {
			return t, true
		}
	}
	return profileType{}, false
}

func profileTypeNames() string {
	names := make([]string, 0, len(profileTypes))
	for _, t := range profileTypes {
		names = append(names, "."+t.name)
	}
	return strings.Join(names, ", ")
}
