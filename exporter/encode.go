// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"bytes"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter/internal/split"
)

// encode returns a profile in the pprof format. profile.Write changes unexported fields
// of its profile, which is a race with callers that copy a profile.Line, as
// profile.Merge does. So encode writes a copy.
func encode(p *profile.Profile) ([]byte, error) {
	own := split.WithSamples(p, nil)
	if p.PeriodType != nil {
		t := *p.PeriodType
		own.PeriodType = &t
	}
	mappings := make(map[*profile.Mapping]*profile.Mapping, len(p.Mapping))
	functions := make(map[*profile.Function]*profile.Function, len(p.Function))
	locations := make(map[*profile.Location]*profile.Location, len(p.Location))
	own.SampleType = copies(p.SampleType, func(_, _ *profile.ValueType) {})
	own.Mapping = copies(p.Mapping, func(m, c *profile.Mapping) { mappings[m] = c })
	own.Function = copies(p.Function, func(f, c *profile.Function) { functions[f] = c })
	own.Location = copies(p.Location, func(l, c *profile.Location) {
		locations[l] = c
		c.Mapping = mappings[l.Mapping]
		c.Line = slices.Clone(l.Line)
		for i := range c.Line {
			c.Line[i].Function = functions[c.Line[i].Function]
		}
	})
	own.Sample = copies(p.Sample, func(s, c *profile.Sample) {
		c.Location = slices.Clone(s.Location)
		for i, l := range c.Location {
			c.Location[i] = locations[l]
		}
	})
	var b bytes.Buffer
	err := own.Write(&b)
	return bytes.Clone(b.Bytes()), err // without the room for more
}

// copies returns copies of all, each after a call of adapt with both.
func copies[T any](all []*T, adapt func(from, c *T)) []*T {
	copied, memory := make([]*T, len(all)), make([]T, len(all))
	for i, x := range all {
		memory[i] = *x
		copied[i] = &memory[i]
		adapt(x, copied[i])
	}
	return copied
}
