// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package split cuts a profile that is larger than a destination takes at once into
// several.
//
// A part repeats the functions that its samples share with those of other parts.
// Samples are therefore sorted by stack first: those of one handler, say, stay
// together, with the functions that only they have. They are then cut in one pass,
// which adds up what each further sample brings along: no part is encoded to learn
// its size.
package split

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// Limits are those of a destination for one profile.
type Limits struct {
	Samples int
	Bytes   int // by Sizes
}

// Sizes tells how large the message of a part becomes, sample by sample. It may
// say too much, and never too little.
type Sizes interface {
	// Header begins a part, and returns the bytes that every part has.
	Header() int
	// Add adds a sample to the part, and returns the bytes that it and what it
	// refers to take there.
	Add(s *profile.Sample) int
}

// Profile returns profiles within the limits that have the samples of p, each of
// them once and unchanged, with their times if p knows them. Their windows begin one
// millisecond apart, and end when that of p does: Pyroscope
// takes two profiles of one series and one time for the same.
//
// A sample that is too large by itself gets a part of its own. It returns p alone
// where that is within the limits, or where splitting is of no use because what all
// parts would repeat is too large. The error says why p is no valid profile.
func Profile(p *exporter.Profile, sizes Sizes, limits Limits) ([]*exporter.Profile, error) {
	parsed, err := p.Parsed()
	if err != nil {
		return nil, err
	}
	if err := parsed.CheckValid(); err != nil {
		return nil, err
	}
	groups := cut(parsed.Sample, sizes, limits)
	if len(groups) == 0 {
		return []*exporter.Profile{p}, nil
	}
	parts, known := make([]*exporter.Profile, len(groups)), Times(p, parsed)
	for i, samples := range groups {
		// Earlier, so that the window has all times of the samples.
		earlier := time.Duration(i) * time.Millisecond
		part := WithSamples(parsed, samples)
		if len(groups) == 1 && len(part.Location) == len(parsed.Location) && len(part.Function) == len(parsed.Function) {
			return []*exporter.Profile{p}, nil
		}
		var times [][]int64
		for _, s := range samples {
			if known != nil {
				times = append(times, known[s])
			}
		}
		part.TimeNanos = cmp.Or(part.TimeNanos, p.Start().UnixNano()) - int64(earlier)
		parts[i] = exporter.NewTimedProfile(exporter.Window{
			Kind:     p.Kind(),
			Start:    p.Start().Add(-earlier),
			Duration: p.Duration() + earlier,
			Resource: p.Resource(),
		}, part, times)
	}
	return parts, nil
}

// Times returns when each sample of p was taken, whose parsed form is parsed; nil where
// that is not known.
func Times(p *exporter.Profile, parsed *profile.Profile) map[*profile.Sample][]int64 {
	times := p.SampleTimes()
	if times == nil {
		return nil
	}
	known := make(map[*profile.Sample][]int64, len(times))
	for i, s := range parsed.Sample {
		known[s] = times[i]
	}
	return known
}

// cut returns the samples, sorted by stack, in as few groups as the limits allow;
// nil if not even a profile without samples is within them.
func cut(samples []*profile.Sample, sizes Sizes, limits Limits) [][]*profile.Sample {
	if sizes.Header() >= limits.Bytes {
		return nil
	}
	sorted := slices.Clone(samples)
	slices.SortStableFunc(sorted, compareStacks)
	var groups [][]*profile.Sample
	begin, size := 0, sizes.Header()
	for i, s := range sorted {
		size += sizes.Add(s)
		if i > begin && (size > limits.Bytes || i-begin == limits.Samples) {
			groups = append(groups, sorted[begin:i:i])
			begin, size = i, sizes.Header()+sizes.Add(s)
		}
	}
	return append(groups, sorted[begin:])
}

// compareStacks orders samples by their stacks, the root first.
func compareStacks(a, b *profile.Sample) int {
	i, j := len(a.Location)-1, len(b.Location)-1
	for ; i >= 0 && j >= 0; i, j = i-1, j-1 {
		if a.Location[i] != b.Location[j] {
			return cmp.Compare(a.Location[i].ID, b.Location[j].ID)
		}
	}
	return cmp.Compare(i, j)
}

// WithSamples returns p with these samples alone, without the locations and
// functions of the others. It shares everything with p, whose ids it keeps. All
// mappings stay: the first one is the program.
func WithSamples(p *profile.Profile, samples []*profile.Sample) *profile.Profile {
	part := &profile.Profile{
		SampleType:        p.SampleType,
		DefaultSampleType: p.DefaultSampleType,
		Sample:            samples,
		Mapping:           p.Mapping,
		Comments:          p.Comments,
		DocURL:            p.DocURL,
		DropFrames:        p.DropFrames,
		KeepFrames:        p.KeepFrames,
		TimeNanos:         p.TimeNanos,
		DurationNanos:     p.DurationNanos,
		PeriodType:        p.PeriodType,
		Period:            p.Period,
	}
	locations := map[*profile.Location]bool{}
	functions := map[*profile.Function]bool{}
	for _, s := range samples {
		for _, l := range s.Location {
			if locations[l] {
				continue
			}
			locations[l] = true
			part.Location = append(part.Location, l)
			for i := range l.Line {
				if f := l.Line[i].Function; f != nil && !functions[f] {
					functions[f] = true
					part.Function = append(part.Function, f)
				}
			}
		}
	}
	return part
}
