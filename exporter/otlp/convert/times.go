// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
)

// timesLabel is the label by which pprof bytes keep the times of a sample: a number for
// each, in nanoseconds since 1970. It is in no message.
const timesLabel = "spanprof.sample.times"

// WithSampleTimestamps sends when samples were taken, where profiles know it: as
// timestamps_unix_nano, eight bytes each. By default they are left out.
//
// Sums are the same: each timestamp counts 1, in place of a value. OTLP has another form,
// with a value for each timestamp, which Pyroscope v2.2.1 refuses. So a profile has no
// timestamps where one of its samples counts more or less than it has times, and
// cpu/nanoseconds of [WithCPUTime] has none.
func WithSampleTimestamps() Option {
	return optionFunc(func(c config) config {
		c.timestamps = true
		return c
	})
}

// KeepTimes returns a profile that has the times of p's samples in its pprof bytes too,
// for what waits as bytes before it becomes a message: as numbers in a label that only
// Request knows. It returns p if the Converter sends no times, or p knows none.
func (c *Converter) KeepTimes(p *exporter.Profile) (*exporter.Profile, error) {
	times := p.SampleTimes()
	if !c.config.timestamps || times == nil {
		return p, nil
	}
	parsed, err := p.Parsed()
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	samples := slices.Clone(parsed.Sample)
	for i, s := range samples {
		if len(times[i]) == 0 {
			continue
		}
		labelled := *s
		labelled.NumLabel = maps.Clone(s.NumLabel)
		if labelled.NumLabel == nil {
			labelled.NumLabel = map[string][]int64{}
		}
		labelled.NumLabel[timesLabel] = times[i]
		samples[i] = &labelled
	}
	return exporter.NewParsedProfile(exporter.Window{
		Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource(),
	}, split.WithSamples(parsed, samples)), nil
}

// withoutTimes returns s without the label that has its times, and these.
func withoutTimes(s *profile.Sample) (*profile.Sample, []int64) {
	times, ok := s.NumLabel[timesLabel]
	if !ok {
		return s, nil
	}
	own := *s
	own.NumLabel = maps.Clone(s.NumLabel)
	delete(own.NumLabel, timesLabel)
	return &own, times
}

// timestamps returns times as messages have them, nil where there is one before 1970.
func timestamps(times []int64) []uint64 {
	if len(times) == 0 || slices.Min(times) < 0 {
		return nil
	}
	unsigned := make([]uint64, len(times))
	for i, t := range times {
		unsigned[i] = uint64(t)
	}
	return unsigned
}

// countsTimestamps reports whether the values of a column are the numbers of the samples'
// timestamps, which then stand for them. All samples of a profile should have one form.
func countsTimestamps(samples []*profile.Sample, stamps [][]uint64, column int) bool {
	for i, s := range samples {
		if len(stamps[i]) == 0 || s.Value[column] != int64(len(stamps[i])) {
			return false
		}
	}
	return len(samples) > 0
}

// withTimestamps returns p with the timestamps of a message as its sample times.
func (t *Timed) withTimestamps() (*exporter.Profile, error) {
	if !slices.ContainsFunc(t.Timestamps, func(stamps []uint64) bool { return len(stamps) > 0 }) {
		return t.Profile, nil
	}
	parsed, err := t.Parsed()
	if err != nil {
		return nil, err
	}
	times := make([][]int64, len(t.Timestamps))
	for i, stamps := range t.Timestamps {
		times[i] = make([]int64, len(stamps))
		for j, s := range stamps {
			times[i][j] = int64(min(s, 1<<63-1))
		}
	}
	return exporter.NewParsedProfile(exporter.Window{
		Kind: t.Kind(), Start: t.Start(), Duration: t.Duration(), Resource: t.Resource(),
	}, parsed, times...), nil
}
