// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestOtherBinaries(t *testing.T) {
	for _, test := range []struct {
		binaries []binary
		want     string // "" for no warning
	}{
		{[]binary{{file: "a"}}, ""},
		{[]binary{{file: "a"}, {file: "b"}}, "of different programs, and hot calls of one are cold in the other: a, b"},
		{[]binary{{file: "a", buildID: "1"}, {file: "a", buildID: "2"}}, "of 2 builds; calls that moved to other lines are counted apart: a, build id 1, a, build id 2"},
		{[]binary{{file: "a", buildID: "1"}, {file: "a"}}, ""},
		{[]binary{{file: "a"}, {}}, ""},
		{[]binary{{file: "a"}, {file: "b"}, {}, {}, {}, {}, {}, {}, {}, {}}, "an unknown program, an unknown program"},
	} {
		got := strings.Join(otherBinaries(test.binaries), "")
		if test.want == "" && got != "" || !strings.HasSuffix(got, test.want) {
			t.Errorf("%+v: got %q, want %q", test.binaries, got, test.want)
		}
	}
}

// The program is the first mapping. Samples of one program are added.
func TestSee(t *testing.T) {
	var m merger
	shop := &profile.Profile{Mapping: []*profile.Mapping{{File: `C:\bin\shop.exe`, BuildID: "1"}, {File: "/lib/libc.so"}}}
	for _, n := range []int64{5, 0, 2} {
		m.see(shop, n)
	}
	m.see(&profile.Profile{}, 5)
	if len(m.binaries) != 1 || m.binaries[0] != (binary{"1", "shop.exe", 7}) {
		t.Errorf("got %+v", m.binaries)
	}
	for i := range 2 * maxBinaries {
		m.see(&profile.Profile{Mapping: []*profile.Mapping{{File: fmt.Sprint("/bin/", i)}}}, 1)
	}
	m.see(shop, 1)
	if len(m.binaries) != maxBinaries || m.binaries[0].samples != 8 {
		t.Errorf("%d programs, the first %+v", len(m.binaries), m.binaries[0])
	}
}

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
