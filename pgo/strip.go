// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
)

// The values of a sample in a merged profile. CPU time comes first: the compiler
// takes the first of the two that it finds, and counts mean different times where
// rates differ or replicas are balanced.
const (
	cpuValue = iota
	countValue
)

// stripped is what is kept of one source.
type stripped struct {
	profile      *profile.Profile
	cpu          int64 // nanoseconds
	samples      int64
	nameless     int64            // samples that ran in no known function
	spans        map[string]int64 // samples by the name of their span, where one is asked for
	binaries     []Binary
	hasStartLine bool
}

// strip returns a copy of p that has CPU time and counts alone, without labels,
// addresses and mappings: stacks that run through the same lines become one then,
// whichever build they are of.
func strip(p *profile.Profile, c config) (*stripped, error) {
	v, err := valuesOf(p)
	if err != nil {
		return nil, err
	}
	if err := checkInlined(p); err != nil {
		return nil, err
	}
	s := &stripped{
		profile: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "samples", Unit: "count"}},
			DefaultSampleType: "cpu",
			PeriodType:        &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:            v.period,
			TimeNanos:         p.TimeNanos,
			DurationNanos:     p.DurationNanos,
			Function:          p.Function,
		},
		spans: map[string]int64{},
	}
	frames := locations{profile: s.profile, of: map[*profile.Location]*profile.Location{}}
	used := map[*profile.Location]bool{}
	for _, sample := range p.Sample {
		ns, count, err := v.of(sample)
		if err != nil {
			return nil, err
		}
		if ns == 0 {
			continue
		}
		if c.bySpan {
			names := sample.Label[labelkey.SpanName]
			for _, name := range names {
				s.spans[name] += count
			}
			if !slices.Contains(names, c.span) {
				continue
			}
		}
		if ns > maxCPU-s.cpu || count > maxCPU-s.samples {
			return nil, fmt.Errorf("%w: more than 73 years of CPU time", ErrDamaged)
		}
		s.cpu += ns
		s.samples += count
		if len(sample.Location) == 0 || len(sample.Location[0].Line) == 0 {
			s.nameless += count
		}
		for _, l := range sample.Location {
			used[l] = true
		}
		stack := sample.Location
		if c.trimmed && len(stack) > c.leaf {
			stack = stack[:c.leaf]
		}
		s.profile.Sample = append(s.profile.Sample, &profile.Sample{
			Value:    []int64{cpuValue: ns, countValue: count},
			Location: frames.stripped(stack),
		})
	}
	s.binaries = binariesOf(p, used, s.samples)
	for l := range used {
		for _, line := range l.Line {
			s.hasStartLine = s.hasStartLine || line.Function != nil && line.Function.StartLine != 0
		}
	}
	if len(s.profile.Sample) > 0 && !s.hasStartLine {
		return nil, fmt.Errorf("%w: the compiler cannot use it; take the profile with Go's own profiler", ErrNoStartLine)
	}
	return s, nil
}

// locations strips the locations of a profile, each once.
type locations struct {
	profile *profile.Profile
	of      map[*profile.Location]*profile.Location
}

func (l locations) stripped(stack []*profile.Location) []*profile.Location {
	frames := make([]*profile.Location, len(stack))
	for i, old := range stack {
		frame, ok := l.of[old]
		if !ok {
			frame = &profile.Location{ID: uint64(len(l.profile.Location) + 1), IsFolded: old.IsFolded}
			for _, line := range old.Line {
				frame.Line = append(frame.Line, profile.Line{Function: line.Function, Line: line.Line})
			}
			l.of[old] = frame
			l.profile.Location = append(l.profile.Location, frame)
		}
		frames[i] = frame
	}
	return frames
}
