// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flameql

import (
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
)

// Type is a profile type, the last part of the name in a query.
type Type struct {
	Name string
	// Kind and SampleType are the profiles and their column. An empty SampleType is the
	// kind's default.
	Kind       exporter.Kind
	SampleType string
	// Unit is the unit in profiles that Go programs write.
	Unit string
	// Label is a short name, for a button. Words describe the measurement.
	Label, Words string
	// Minor marks a type that a page does not offer by itself: another value
	// of a profile that it offers.
	Minor bool
}

// Types that programs query. CPU is the type of a query without one.
var (
	CPU  = Types[0]
	Wall = Types[1]
	Host = Types[2]
	// Allocated has names for work under spanprof.Handler and spanprof.Do only.
	Allocated = Types[5]
)

// Types are all types: CPU, wall and host first.
var Types = []Type{
	{"cpu", exporter.KindCPU, "cpu", "nanoseconds", "CPU", "CPU time", false},
	{"wall", exporter.KindWall, "wall", "nanoseconds", "Wall", "wall time", false},
	{"host", exporter.KindHost, "", "nanoseconds", "Host", "CPU time seen by the host", false},
	{"goroutine", exporter.KindGoroutine, "goroutine", "count", "Goroutines", "goroutines", false},
	{"inuse_space", exporter.KindHeap, "inuse_space", "bytes", "Heap in use", "heap in use", false},
	{"alloc_space", exporter.KindHeap, "alloc_space", "bytes", "Heap allocated", "heap allocated", false},
	{"inuse_objects", exporter.KindHeap, "inuse_objects", "count", "Objects in use", "objects in use", true},
	{"alloc_objects", exporter.KindHeap, "alloc_objects", "count", "Objects allocated", "objects allocated", true},
	{"mutex_duration", exporter.KindMutex, "delay", "nanoseconds", "Mutex", "time that mutexes made others wait", false},
	{"mutex_count", exporter.KindMutex, "contentions", "count", "Mutex waits", "waits for mutexes", true},
	{"block_duration", exporter.KindBlock, "delay", "nanoseconds", "Blocked", "time blocked", false},
	{"block_count", exporter.KindBlock, "contentions", "count", "Blocked times", "times blocked", true},
	{"contention_duration", columns.Contention, "delay", "nanoseconds", "Contention", "time waited for mutexes or channels", false},
	{"contention_count", columns.Contention, "contentions", "count", "Contentions", "waits for mutexes or channels", true},
	{"threadcreate", columns.Threads, "threadcreate", "count", "Threads", "threads created", false},
}

// Other returns the type of a kind that begins with columns.Other: a column of another tool.
// Any such name is a type.
func Other(kind exporter.Kind) (Type, bool) {
	name, ok := strings.CutPrefix(string(kind), columns.Other)
	return Type{Name: string(kind), Kind: kind, Label: name, Words: name}, ok && name != ""
}

// TypeByName returns the type with a name, also of a column of another tool. goroutines is the
// name in pyroscope-go before v1.5.0.
func TypeByName(name string) (Type, bool) {
	if name == "goroutines" {
		name = "goroutine"
	}
	for _, t := range Types {
		if t.Name == name {
			return t, true
		}
	}
	return Other(exporter.Kind(name))
}

func typeNames() string {
	names := make([]string, 0, len(Types))
	for _, t := range Types {
		names = append(names, "."+t.Name)
	}
	return strings.Join(names, ", ")
}

// Labelled reports whether samples of the type carry the labels of goroutines.
func (t Type) Labelled() bool {
	switch t.Kind {
	case exporter.KindHeap, exporter.KindMutex, exporter.KindBlock, columns.Contention, columns.Threads:
		return false
	}
	return true
}
