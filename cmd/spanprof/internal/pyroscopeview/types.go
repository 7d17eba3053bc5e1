// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"strings"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
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
	t, ok := querier.ParseType(id)
	return profileType{id: id, name: t.Group, sample: t.Sample, unit: t.Unit, kind: exporter.Kind(t.Kind)}, ok && !strings.HasPrefix(t.Kind, columns.Other)
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
