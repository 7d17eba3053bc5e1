// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"errors"
	"testing"

	"github.com/google/pprof/profile"
)

// Sums are bounded exactly.
func TestTooLong(t *testing.T) {
	made := func(ns, count int64) *profile.Profile {
		f := &profile.Function{ID: 1, Name: "main.f", StartLine: 1}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
		return &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "samples", Unit: "count"}},
			Function:   []*profile.Function{f}, Location: []*profile.Location{l}, Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{ns, count}}},
		}
	}
	for _, test := range []struct {
		ns, count int64
		want      bool
	}{{maxCPU, 1, true}, {maxCPU + 1, 1, false}, {1, maxCPU, true}, {1, maxCPU + 1, false}} {
		if _, err := strip(made(test.ns, test.count), config{}); (err == nil) != test.want {
			t.Errorf("%+v: %v", test, err)
		}
	}
	m := merger{spans: map[string]int64{}, cpu: maxCPU - 5, samples: 3}
	if err := m.add(Source{Name: "1", Profile: made(5, 1)}); err != nil {
		t.Errorf("exactly the bound: %v", err)
	}
	if err := m.add(Source{Name: "2", Profile: made(1, 1)}); !errors.Is(err, errTooLong) {
		t.Errorf("beyond it: %v", err)
	}
	m = merger{spans: map[string]int64{}, samples: maxCPU}
	if err := m.add(Source{Name: "3", Profile: made(1, 1)}); !errors.Is(err, errTooLong) {
		t.Errorf("too many samples: %v", err)
	}
}
