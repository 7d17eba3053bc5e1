// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// maxTimes bounds the times of the samples of a window, to 8 MB.
const maxTimes = 1 << 20

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
	}, merged, mergeTimes(merged, all, pieces)...), nil
}

// mergeTimes returns the times of the samples of a sum; nil if some parts have none.
func mergeTimes(sum *profile.Profile, parts []*profile.Profile, pieces []*exporter.Profile) [][]int64 {
	times := make(map[string][]int64)
	n := 0
	for i, p := range parts {
		timed := pieces[i].SampleTimes()
		if len(timed) != len(p.Sample) {
			return nil
		}
		for j, s := range p.Sample {
			k := sampleKey(s)
			times[k] = append(times[k], timed[j]...)
			n += len(timed[j])
		}
	}
	merged := make([][]int64, len(sum.Sample))
	for i, s := range sum.Sample {
		merged[i] = thin(times[sampleKey(s)], (n+maxTimes-1)/maxTimes)
	}
	return merged
}

// thin returns one in so many times, starting with the first.
func thin(times []int64, one int) []int64 {
	if one <= 1 {
		return times
	}
	kept := times[:0]
	for i := 0; i < len(times); i += one {
		kept = append(kept, times[i])
	}
	return slices.Clip(kept)
}

// sampleKey returns a key that is equal for samples merged into one.
func sampleKey(s *profile.Sample) string {
	var b []byte
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for _, l := range s.Location {
		b = binary.AppendUvarint(b, l.Address)
		b = binary.AppendUvarint(b, uint64(len(l.Line)))
		for _, line := range l.Line {
			b = binary.AppendVarint(b, line.Line)
			if line.Function != nil {
				text(line.Function.Name)
			}
		}
	}
	b = append(b, 0)
	keys := make([]string, 0, len(s.Label))
	for k := range s.Label {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		text(k)
		for _, v := range s.Label[k] {
			text(v)
		}
	}
	return string(b)
}
