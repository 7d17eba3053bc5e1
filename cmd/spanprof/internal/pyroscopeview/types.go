// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
)

// profileType is a profile type of the server.
type profileType struct {
	// id is name:sample:unit:period type:period unit.
	id           string
	name, sample string
	unit         string
	kind         exporter.Kind
}

// parseType reads the id of a profile type. It returns false for one that no page shows.
func parseType(id string) (profileType, bool) {
	part := strings.Split(id, ":")
	if len(part) != 5 {
		return profileType{}, false
	}
	t := profileType{id: id, name: part[0], sample: part[1], unit: part[2]}
	switch {
	case t.name == "wall" || t.sample == "wall":
		t.kind = exporter.KindWall
	case t.name == "host":
		t.kind = exporter.KindHost
	case t.sample == "cpu", t.name == "process_cpu":
		t.kind = exporter.KindCPU
	case strings.HasPrefix(t.sample, "inuse_"), strings.HasPrefix(t.sample, "alloc_"):
		t.kind = exporter.KindHeap
	case strings.HasPrefix(t.sample, "goroutine"):
		t.kind, t.sample = exporter.KindGoroutine, "goroutine"
	case strings.HasPrefix(t.name, "mutex"), strings.HasPrefix(t.name, "block"):
		t.kind = exporter.Kind(t.name[:len("mutex")])
		switch {
		case strings.HasSuffix(t.sample, "count"):
			t.sample = "contentions"
		case strings.HasSuffix(t.sample, "duration"):
			t.sample = "delay"
		}
		t.unit = strings.TrimPrefix(t.unit, "lock_")
	default:
		return profileType{}, false
	}
	return t, true
}

// standard returns the sample type of a kind that a query means which names none.
func standard(kind exporter.Kind) string {
	for _, t := range flameql.Types {
		if t.Kind == kind && t.SampleType != "" {
			return t.SampleType
		}
	}
	return "samples"
}

// momentary reports whether a sample type describes a moment.
func momentary(sample string) bool {
	return strings.HasPrefix(sample, "inuse_") || sample == "goroutine"
}
