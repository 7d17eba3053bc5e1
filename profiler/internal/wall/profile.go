// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/profiler/internal/stacks"
)

// build returns the profile of what a table has summed from start on for d.
func build(s source, t *table, start time.Time, d time.Duration) *profile.Profile {
	built := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "wall", Unit: "nanoseconds"}},
		DefaultSampleType: "wall",
		PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		TimeNanos:         start.UnixNano(),
		DurationNanos:     int64(d),
		// There is no fixed period: this is the mean one.
		Period: int64(d) / int64(max(1, t.rounds)),
		Sample: make([]*profile.Sample, 0, len(t.entries)),
	}
	var b *stacks.Builder
	b = stacks.New(built, s.split, func(pcs []uintptr) *profile.Location {
		frames := s.frames(pcs)
		if len(frames) == 0 {
			return nil
		}
		return &profile.Location{Address: uint64(pcs[0]), Line: b.Lines(frames)}
	})
	for _, e := range t.entries {
		sample := b.Add(e.stack, b.Labels(make(map[string][]string, len(e.labels)), e.labels))
		sample.Value[0], sample.Value[1] = e.count, int64(e.time)
	}
	return built
}
