// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode makes the label span_name of the markers in profiles.
package decode

import (
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker"
)

// Label gives samples under a marker the label span_name, unless they have one. The marker
// nearest to the leaf counts. Label removes the functions of package marker.
func Label(p *profile.Profile) {
	names := marker.Names()
	digits := make(map[*profile.Location]string) // the function of package marker
	for _, l := range p.Location {
		l.Line = slices.DeleteFunc(l.Line, func(line profile.Line) bool {
			if line.Function == nil || !marker.IsFrame(line.Function.Name) {
				return false
			}
			digits[l] = line.Function.Name // the outermost, which is never inlined, if there are more
			return true
		})
	}
	p.Function = slices.DeleteFunc(p.Function, func(f *profile.Function) bool { return marker.IsFrame(f.Name) })
	p.Location = slices.DeleteFunc(p.Location, func(l *profile.Location) bool { return digits[l] != "" && len(l.Line) == 0 })
	for _, s := range p.Sample {
		low, high := -1, -1
		kept := s.Location[:0]
		for _, l := range s.Location {
			function, ok := digits[l]
			if !ok || len(l.Line) > 0 { // the compiler may inline the work into a digit
				kept = append(kept, l)
			}
			if !ok {
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
