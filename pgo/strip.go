// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// The values of a sample in a merged profile. CPU time is first: the compiler reads the
// first of the two columns, and counts of different rates mean different times.
const (
	cpuValue = iota
	countValue
)

// maxCPU bounds the CPU time of all sources, so that sums do not overflow: 73 years.
const maxCPU int64 = columns.MaxSum

var errTooLong = errors.New("damaged profile: more than 73 years of CPU time")

// maxInlined bounds the functions that are inlined at one location. The work for each
// sample grows with it.
const maxInlined = 1000

// stripped is what is kept of one source.
type stripped struct {
	profile *profile.Profile
	cpu     int64 // nanoseconds
	samples int64
	spans   map[string]int64 // samples by the name of their span, with WithSpan
}

// strip returns a copy of p that has only CPU time and counts, without labels, addresses
// and mappings. So stacks with the same lines become one, of all builds.
func strip(p *profile.Profile, c config) (*stripped, error) {
	used, err := cpuOf(p)
	if err != nil {
		return nil, err
	}
	s := &stripped{
		profile: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "samples", Unit: "count"}},
			DefaultSampleType: "cpu",
			PeriodType:        &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:            used.period,
			TimeNanos:         p.TimeNanos,
			DurationNanos:     p.DurationNanos,
			Function:          p.Function,
		},
		spans: map[string]int64{},
	}
	frames := locations{profile: s.profile, of: map[place]*profile.Location{}}
	hasStartLine := false
	for _, sample := range used.Sample {
		ns, count := sample.Value[used.cpu], int64(0)
		if used.count >= 0 {
			count = sample.Value[used.count]
		}
		switch {
		case ns < 0 || count < 0:
			return nil, fmt.Errorf("%w: it has values below zero, as the difference of two profiles does", ErrNotCPU)
		case ns == 0:
			continue
		case count == 0: // there is no count, or it was scaled to zero
			count = 1
			if used.period > 0 {
				count = max(1, ns/used.period)
			}
		}
		if c.span != "" {
			names := sample.Label[labelkey.SpanName]
			for _, name := range names {
				s.spans[name] += count
			}
			if !slices.Contains(names, c.span) {
				continue
			}
		}
		if ns > maxCPU-s.cpu || count > maxCPU-s.samples {
			return nil, errTooLong
		}
		s.cpu += ns
		s.samples += count
		stack := sample.Location
		for _, l := range stack {
			for _, line := range l.Line {
				hasStartLine = hasStartLine || line.Function != nil && line.Function.StartLine != 0
			}
		}
		if c.leaf > 0 && len(stack) > c.leaf {
			stack = stack[:c.leaf]
		}
		s.profile.Sample = append(s.profile.Sample, &profile.Sample{
			Value:    []int64{cpuValue: ns, countValue: count},
			Location: frames.stripped(stack),
		})
	}
	if len(s.profile.Sample) > 0 && !hasStartLine {
		return nil, fmt.Errorf("%w for the compiler: no function has a start line; use Go's own profiler", ErrNotCPU)
	}
	return s, nil
}

// cpuProfile is a profile with its columns for CPU time and counts. count is -1 if absent.
type cpuProfile struct {
	*profile.Profile
	cpu, count int
	period     int64 // nanoseconds of CPU time between samples, 0 if unknown
}

func cpuOf(p *profile.Profile) (cpuProfile, error) {
	for _, l := range p.Location {
		if len(l.Line) > maxInlined {
			return cpuProfile{}, fmt.Errorf("damaged profile: %d functions are inlined at one location", len(l.Line))
		}
	}
	for _, part := range columns.Split(p, "") {
		if part.Kind != columns.CPU || columns.Index(part.Profile, "cpu") < 0 {
			continue
		}
		c := cpuProfile{part.Profile, columns.Index(part.Profile, "cpu"), columns.Index(part.Profile, "samples"), 0}
		if t := c.PeriodType; t != nil && t.Type == "cpu" && t.Unit == "nanoseconds" {
			c.period = max(0, c.Period)
		}
		return c, nil
	}
	names := make([]string, len(p.SampleType))
	for i, t := range p.SampleType {
		names[i] = fmt.Sprintf("%.40s/%.40s", t.Type, t.Unit)
	}
	return cpuProfile{}, fmt.Errorf("%w: it measures %s", ErrNotCPU, strings.Join(names, ", "))
}

// place is a location on a stack. called is set for a leaf that the same line calls.
type place struct {
	*profile.Location
	called bool
}

// locations strips the locations of a profile, each once.
type locations struct {
	profile *profile.Profile
	of      map[place]*profile.Location
}

// stripped returns the stack without addresses. The compiler drops the call from a line to
// itself unless addresses differ. So the leaf of such a recursion has the address 1.
func (l locations) stripped(stack []*profile.Location) []*profile.Location {
	frames := make([]*profile.Location, len(stack))
	for i, old := range stack {
		at := place{old, i == 0 && len(stack) > 1 && sameLine(old, stack[1])}
		frame, ok := l.of[at]
		if !ok {
			frame = &profile.Location{ID: uint64(len(l.profile.Location) + 1), IsFolded: old.IsFolded}
			if at.called {
				frame.Address = 1
			}
			for _, line := range old.Line {
				frame.Line = append(frame.Line, profile.Line{Function: line.Function, Line: line.Line})
			}
			l.of[at] = frame
			l.profile.Location = append(l.profile.Location, frame)
		}
		frames[i] = frame
	}
	return frames
}

// sameLine reports whether the call from caller to leaf stays in one line of a function.
func sameLine(leaf, caller *profile.Location) bool {
	if len(leaf.Line) == 0 || len(caller.Line) == 0 {
		return false
	}
	to, from := leaf.Line[len(leaf.Line)-1], caller.Line[0]
	return to.Line == from.Line && to.Function != nil && from.Function != nil && to.Function.Name == from.Function.Name && to.Function.StartLine == from.Function.StartLine
}
