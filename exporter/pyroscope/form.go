// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"maps"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/series"
)

// form names and adds up profiles of a kind as pyroscope-go v1.5.0 does (collector.go,
// session.go, sample_types.go).
type form struct {
	sampleRate         int
	units, aggregation string
	sampleTypes        map[string]sampleType // nil if the server has its own for them
}

// sampleType is an element of sample_type_config: how the server names and adds up a value
// of a sample.
type sampleType struct {
	Units       string `json:"units,omitempty"`
	Aggregation string `json:"aggregation,omitempty"`
	DisplayName string `json:"display-name,omitempty"`
}

const average = "average"

// formOf returns the form of a kind. For a kind that pyroscope-go does not have, the server
// uses the sample types in the profile.
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
			"goroutine": {DisplayName: "goroutine", Units: "goroutines", Aggregation: average},
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

// formatSeries returns the application and its tags in the grammar of /ingest,
// app{key=value,...}.
func formatSeries(app string, tags map[string]string) string {
	name := appName(app)
	if name != app {
		tags["service_name"] = app // the server takes a tag of this name unchanged
	}
	pairs := make([]string, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		pairs = append(pairs, key+"="+tags[key])
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// appName replaces characters that the server refuses in the name of an application. The
// default Resource has unknown_service:executable.
func appName(s string) string {
	return strings.Map(func(r rune) rune {
		if series.Alphanumeric(r) || strings.ContainsRune("_.-/", r) {
			return r
		}
		return '_'
	}, s)
}
