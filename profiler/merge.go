// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// merge returns the sum of consecutive pieces, at least one. Samples of the same stack
// and labels are added. The duration in the pprof form is the sum of the pieces'
// durations, the measured time.
func merge(pieces []*exporter.Profile) (*exporter.Profile, error) {
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return first, nil
	}
	all := make([]*profile.Profile, len(pieces))
	for i, p := range pieces {
		parsed, err := p.Parsed()
		if err != nil {
			return nil, err
		}
		all[i] = parsed
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("merge %d pieces of a %s profile: %w", len(all), first.Kind(), err)
	}
	// Merge takes the value types over as pointers, and encoding a profile
	// writes to them. The pieces are shared.
	merged.SampleType = slices.Clone(merged.SampleType)
	for i, t := range merged.SampleType {
		merged.SampleType[i] = &profile.ValueType{Type: t.Type, Unit: t.Unit}
	}
	if t := merged.PeriodType; t != nil {
		merged.PeriodType = &profile.ValueType{Type: t.Type, Unit: t.Unit}
	}
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     first.Kind(),
		Start:    first.Start(),
		Duration: last.End().Sub(first.Start()),
	}, merged), nil
}
