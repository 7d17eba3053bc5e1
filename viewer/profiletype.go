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
	// unit is the unit of profiles that Go programs write.
	unit string
	// words say to people what is measured.
	words string
}

// profileTypes are the known types. The first is meant where a query names
// none.
var profileTypes = []profileType{
	{"cpu", exporter.KindCPU, "cpu", unitNanoseconds, "CPU time"},
	{"alloc_space", exporter.KindHeap, "alloc_space", unitBytes, "heap allocated"},
	{"alloc_objects", exporter.KindHeap, "alloc_objects", unitCount, "objects allocated"},
	{"inuse_space", exporter.KindHeap, "inuse_space", unitBytes, "heap in use"},
	{"inuse_objects", exporter.KindHeap, "inuse_objects", unitCount, "objects in use"},
	{"wall", exporter.KindWall, "wall", unitNanoseconds, "wall time"},
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
