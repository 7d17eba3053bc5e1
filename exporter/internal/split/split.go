// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package split halves a pprof profile that is too large for a destination.
package split

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/google/pprof/profile"
)

// Halves returns the samples in two halves, sorted by stack. Samples of one handler stay
// together, so that few functions are repeated in both halves.
func Halves(p *profile.Profile) [2][]*profile.Sample {
	order := slices.Clone(p.Sample)
	slices.SortStableFunc(order, compareStacks)
	return [2][]*profile.Sample{order[:len(order)/2], order[len(order)/2:]}
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

// WithSamples returns p with only these samples, and without the locations and
// functions of the others. It shares the rest with p and keeps all ids. All
// mappings stay, because the first is the program.
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

// UncompressedSize returns the uncompressed size of a pprof form. For gzip it is in the
// trailer (RFC 1952, 2.3.1).
func UncompressedSize(data []byte) int64 {
	if len(data) < 18 || data[0] != 0x1f || data[1] != 0x8b {
		return int64(len(data))
	}
	return int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
}
