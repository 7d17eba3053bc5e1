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
	// label is what the type is called where there is little room, words
	// say what is measured.
	label, words string
	// minor marks a type that is not offered: it is another view of a
	// profile that is.
	minor bool
}

// kindHost is the kind of what a host's profiler saw of this process.
const kindHost exporter.Kind = "host"

// profileTypes are the known types. The first is meant where a query names
// none.
var profileTypes = []profileType{
	{"cpu", exporter.KindCPU, "cpu", unitNanoseconds, "CPU", "CPU time", false},
	{"wall", exporter.KindWall, "wall", unitNanoseconds, "Wall", "wall time", false},
	{"host", kindHost, "", unitNanoseconds, "Host", "CPU time seen by the host", false},
	{"goroutines", exporter.KindGoroutine, "goroutine", unitCount, "Goroutines", "goroutines", false},
	{"inuse_space", exporter.KindHeap, "inuse_space", unitBytes, "Heap in use", "heap in use", false},
	{"alloc_space", exporter.KindHeap, "alloc_space", unitBytes, "Heap allocated", "heap allocated", false},
	{"inuse_objects", exporter.KindHeap, "inuse_objects", unitCount, "Objects in use", "objects in use", true},
	{"alloc_objects", exporter.KindHeap, "alloc_objects", unitCount, "Objects allocated", "objects allocated", true},
	{"mutex_duration", exporter.KindMutex, "delay", unitNanoseconds, "Mutex", "time that mutexes made others wait", false},
	{"mutex_count", exporter.KindMutex, "contentions", unitCount, "Mutex waits", "waits for mutexes", true},
	{"block_duration", exporter.KindBlock, "delay", unitNanoseconds, "Blocked", "time blocked", false},
	{"block_count", exporter.KindBlock, "contentions", unitCount, "Blocked times", "times blocked", true},
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

// labelled says whether samples of the type carry the labels of goroutines.
func (t profileType) labelled() bool {
	switch t.kind {
	case exporter.KindHeap, exporter.KindMutex, exporter.KindBlock:
		return false
	}
	return true
}
