// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode makes the label span_name of the markers in profiles.
package decode

import (
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker"
)

// Label gives samples under a marker the label span_name, unless they have one. The marker
// nearest to the leaf counts. Label removes the frames of package marker from all samples.
func Label(p *profile.Profile) {
	names := marker.Names()
	locations := make(map[*profile.Location]string) // to the function of package marker
	for _, l := range p.Location {
		// The compiler may inline calls of the package into a digit, and nothing else.
		for _, line := range l.Line {
			if line.Function != nil && marker.IsFrame(line.Function.Name) {
				locations[l] = line.Function.Name
			}
		}
	}
	for _, s := range p.Sample {
		low, high := -1, -1
		kept := s.Location[:0]
		for _, l := range s.Location {
			function, ok := locations[l]
			if !ok {
				kept = append(kept, l)
				continue
			}
			switch value, isHigh, isLow := marker.Digit(function); {
			case isLow && low < 0:
				low = value
			case isHigh && low >= 0 && high < 0:
				high = value
			}
		}
		s.Location = kept
		if high < 0 || len(s.Label[labelkey.SpanName]) > 0 {
			continue
		}
		name := marker.Other
		if n := marker.Number(high, low); n < len(names) {
			name = names[n]
		}
		if s.Label == nil {
			s.Label = make(map[string][]string)
		}
		s.Label[labelkey.SpanName] = []string{name}
	}
}
