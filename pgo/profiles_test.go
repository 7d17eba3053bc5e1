// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo_test

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
)

// cpuProfile returns a profile as runtime/pprof makes it, without samples.
func cpuProfile(period int64) *profile.Profile {
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     period,
		Mapping:    []*profile.Mapping{{ID: 1, Start: 0x400000, Limit: 0x800000, File: "/bin/shop", BuildID: "b1"}},
	}
}

// addCall adds n samples of callee, which caller calls on its third line.
func addCall(p *profile.Profile, caller, callee string, n int64, labels map[string][]string) {
	locate := func(name string, start, line int64) *profile.Location {
		for _, l := range p.Location {
			if l.Line[0].Function.Name == name && l.Line[0].Line == line {
				return l
			}
		}
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: "/src/shop/main.go", StartLine: start}
		l := &profile.Location{ID: uint64(len(p.Location) + 1), Address: 0x400000 + 16*uint64(len(p.Location)+1), Line: []profile.Line{{Function: f, Line: line}}}
		if len(p.Mapping) > 0 {
			l.Mapping = p.Mapping[0]
		}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, l)
		return l
	}
	p.Sample = append(p.Sample, &profile.Sample{
		Location: []*profile.Location{locate(callee, 40, 45), locate(caller, 10, 13), locate("runtime.main", 200, 283)},
		Value:    []int64{n, n * p.Period},
		Label:    labels,
	})
}

// calling returns a profile with n samples of callee, which caller calls.
func calling(caller, callee string, n int64) *profile.Profile {
	p := cpuProfile(1e7)
	addCall(p, caller, callee, n, nil)
	return p
}

func encode(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
