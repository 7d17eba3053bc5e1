// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// parsed returns a CPU profile with n samples.
func parsed(n int) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     10_000_000,
		Mapping:    []*profile.Mapping{{ID: 1, File: "program", HasFunctions: true}},
		Function:   []*profile.Function{{ID: 1, Name: "main.main"}},
	}
	p.Location = []*profile.Location{{ID: 1, Mapping: p.Mapping[0], Line: []profile.Line{{Function: p.Function[0]}}}}
	for range n {
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Location, Value: []int64{1, 10_000_000}})
	}
	return p
}

// window returns a CPU window that ends at the given time.
func window(end time.Time) *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     exporter.KindCPU,
		Start:    end.Add(-10 * time.Second),
		Duration: 10 * time.Second,
	}, parsed(1))
}

// call gives a sample a leaf of its own, a function with this name.
func call(p *profile.Profile, sample int, name string) {
	f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
	l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f}}}
	p.Function, p.Location = append(p.Function, f), append(p.Location, l)
	s := p.Sample[sample]
	s.Location = append([]*profile.Location{l}, s.Location...)
}
