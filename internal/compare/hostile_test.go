// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
)

// handmade returns a CPU profile with one function and the given values.
func handmade(samples, nanoseconds int64) *exporter.Profile {
	f := &profile.Function{ID: 1, Name: "main.f"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Function:   []*profile.Function{f},
		Location:   []*profile.Location{l},
		Sample:     []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{samples, nanoseconds}}},
	}
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Unix(1e9, 0), Duration: time.Second}, p)
}

// compared compares three runs with three, all with the same profile.
func compared(p *exporter.Profile) (*compare.Result, error) {
	before, after := compare.NewSide(""), compare.NewSide("")
	for _, run := range []string{"a", "b", "c"} {
		for _, side := range []*compare.Side{before, after} {
			if err := side.Add(run, p); err != nil {
				return nil, err
			}
		}
	}
	return compare.Compare(before, after, "")
}

// Values that a profiler does not write are an error, and no result that has numbers
// which JSON cannot write.
func TestHostileValues(t *testing.T) {
	for name, test := range map[string]struct {
		samples, nanoseconds int64
		want                 string // the error, "" for none
	}{
		"negative time":    {10, -1e9, "values below zero"},
		"negative count":   {-10, 1e9, "values below zero"},
		"no time":          {10, 0, "have no CPU time"},
		"no count":         {0, 1e9, "the profiles of side before have no sample that meets the conditions"},
		"far too much":     {1 << 62, 1 << 62, ""},
		"almost no sample": {1, 1 << 62, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := compared(handmade(test.samples, test.nanoseconds))
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%v: %+v", err, r.Functions)
			}
		})
	}
}
