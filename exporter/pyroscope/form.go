// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import "github.com/spanprof/spanprof/exporter"

// form is what a request says about the kind of its profile, as pyroscope-go
// v1.4.3 says it (collector.go, session.go, sample_types.go).
type form struct {
	sampleRate         int
	units, aggregation string
	sampleTypes        map[string]sampleType // nil: the server knows them
}

// sampleType is an element of sample_type_config: how the server names and adds
// a value of a sample.
type sampleType struct {
	Units       string `json:"units,omitempty"`
	Aggregation string `json:"aggregation,omitempty"`
	DisplayName string `json:"display-name,omitempty"`
}

const average = "average"

// formOf returns the form of a kind. A kind that pyroscope-go does not have goes
// by the sample types that its profile states.
func formOf(k exporter.Kind) form {
	switch k {
	case exporter.KindCPU:
		return form{sampleRate: 100, units: "samples", aggregation: "sum"}
	case exporter.KindHeap:
		return form{sampleRate: 100, sampleTypes: map[string]sampleType{
			"alloc_objects": {Units: "objects"},
			"alloc_space":   {Units: "bytes"},
			"inuse_objects": {Units: "objects", Aggregation: average},
			"inuse_space":   {Units: "bytes", Aggregation: average},
		}}
	case exporter.KindGoroutine:
		return form{units: "goroutines", aggregation: average, sampleTypes: map[string]sampleType{
			"goroutine": {DisplayName: "goroutines", Units: "goroutines", Aggregation: average},
		}}
	case exporter.KindMutex:
		return form{sampleTypes: contention("mutex")}
	case exporter.KindBlock:
		return form{sampleTypes: contention("block")}
	default:
		return form{}
	}
}

func contention(of string) map[string]sampleType {
	return map[string]sampleType{
		"contentions": {DisplayName: of + "_count", Units: "lock_samples"},
		"delay":       {DisplayName: of + "_duration", Units: "lock_nanoseconds"},
	}
}
