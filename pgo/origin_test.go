// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestSameProgram(t *testing.T) {
	for _, test := range []struct {
		a, b binary
		want bool
	}{
		{binary{buildID: "1", main: "/a"}, binary{buildID: "1", main: "/b"}, true},
		{binary{main: "/src/shop"}, binary{main: "/build/shop"}, true},
		{binary{main: `C:/src/shop`}, binary{main: "/build/shop"}, true},
		{binary{main: "/src/shop"}, binary{main: "/src/cart"}, false},
		{binary{main: "a.com/x/shop"}, binary{main: "a.com/y/shop"}, false},
		{binary{main: "a.com/x/shop"}, binary{main: "a.com/x/shop"}, true},
		{binary{main: "/src/shop", file: "a"}, binary{file: "a"}, true},
		{binary{file: "a"}, binary{file: "b"}, false},
		{binary{file: "a"}, binary{}, true},
		{binary{}, binary{file: "b"}, true},
	} {
		if got := sameProgram(test.a, test.b); got != test.want {
			t.Errorf("%+v and %+v: got %v", test.a, test.b, got)
		}
	}
}

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
	} {
		got := strings.Join(otherBinaries(test.binaries), "")
		if test.want == "" && got != "" || !strings.HasSuffix(got, test.want) {
			t.Errorf("%+v: got %q, want %q", test.binaries, got, test.want)
		}
	}
	if got := (binary{}).String(); got != "an unknown program" {
		t.Error(got)
	}
}

// The program is the mapping with package main, else the first.
func TestBinariesOf(t *testing.T) {
	m, lib := &profile.Mapping{File: `C:\bin\shop.exe`, BuildID: "1"}, &profile.Mapping{File: "/lib/libc.so"}
	at := func(m *profile.Mapping, name, file string) *profile.Location {
		return &profile.Location{Mapping: m, Line: []profile.Line{{Function: &profile.Function{Name: name, Filename: file}}}}
	}
	p := &profile.Profile{Mapping: []*profile.Mapping{lib, m}, Location: []*profile.Location{
		at(lib, "malloc", "malloc.c"), at(m, "main.run", "/src/shop/main.go"), at(m, "main.cgo", "_cgo_gotypes.go"), at(m, "main.other", "/src/shop/other.go"), {},
	}}
	used := map[*profile.Location]bool{}
	for _, l := range p.Location {
		used[l] = true
	}
	if got := binariesOf(p, used, 5); len(got) != 1 || got[0] != (binary{"1", "shop.exe", "/src/shop", 5}) {
		t.Errorf("got %+v", got)
	}
	if got := binariesOf(p, nil, 5); len(got) != 1 || got[0] != (binary{"", "libc.so", "", 5}) {
		t.Errorf("without package main: got %+v", got)
	}
	if got := binariesOf(p, nil, 0); got != nil {
		t.Errorf("without samples: got %+v", got)
	}
	if got := binariesOf(&profile.Profile{}, nil, 5); got != nil {
		t.Errorf("without mappings: got %+v", got)
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

func TestParseWithoutColumns(t *testing.T) {
	var b strings.Builder
	if err := (&profile.Profile{}).Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse([]byte(b.String())); err == nil || !strings.Contains(err.Error(), "no columns") {
		t.Errorf("got %v", err)
	}
}
