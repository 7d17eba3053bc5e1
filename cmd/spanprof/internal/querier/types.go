// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
)

// Type is a profile type of the server.
type Type struct {
	// ID is name:sample:unit:period type:period unit.
	ID string
	// Kind, Sample and Unit are as package columns names them.
	Kind         exporter.Kind
	Sample, Unit string
}

// ParseType reads the id of a profile type. It returns false for another text.
func ParseType(id string) (Type, bool) {
	part := strings.Split(id, ":")
	if len(part) != 5 {
		return Type{}, false
	}
	unit := strings.TrimPrefix(part[2], "lock_") // of a Java agent
	if unit == "samples" {
		unit = "count"
	}
	of := columns.Split(&profile.Profile{
		SampleType: []*profile.ValueType{{Type: part[1], Unit: unit}},
		PeriodType: &profile.ValueType{Type: part[3], Unit: part[4]}, Period: 1,
	}, part[0])[0]
	t := Type{ID: id, Kind: exporter.Kind(of.Kind), Sample: of.Profile.SampleType[0].Type, Unit: unit}
	switch {
	case part[0] == columns.Wall:
		t.Kind = columns.Wall
	case part[0] == columns.Host:
		t.Kind = columns.Host
	case part[0] == "process_cpu" && strings.HasPrefix(string(t.Kind), columns.Other):
		t.Kind = columns.CPU
	}
	return t, true
}

// Momentary reports whether values are live memory or goroutines. They must not be added.
func (t Type) Momentary() bool {
	return strings.HasPrefix(t.Sample, "inuse_") || t.Kind == columns.Goroutine
}
