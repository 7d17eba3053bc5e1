// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder_test

import (
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/profilebuilder"
)

func TestBuilder(t *testing.T) {
	b := profilebuilder.New[string](&profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
	})
	described := 0
	location := func(name string) *profile.Location {
		return b.Location(name, func() *profile.Location {
			described++
			if name == "hidden" {
				return nil
			}
			return &profile.Location{
				Mapping: b.Mapping(profile.Mapping{Start: 1, Limit: 100, File: "program"}),
				Line:    []profile.Line{{Function: b.Function(profile.Function{Name: name})}},
			}
		})
	}
	for range 2 { // described, and known
		if location("hidden") != nil {
			t.Error("a location that was left out is there")
		}
	}
	for i := range 3000 {
		s := b.Sample([]*profile.Location{location("leaf"), location("root")})
		s.Value[1] = int64(i)
		s.Label = b.Label(nil, "key", "a")
		s.Label = b.Label(s.Label, "key", "b")
		s.Label = b.Label(s.Label, "empty", "")
	}
	p := b.Profile
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if described != 3 || len(p.Location) != 2 || len(p.Function) != 2 || len(p.Mapping) != 1 {
		t.Errorf("%d descriptions, %d locations, %d functions, %d mappings; want 3, 2, 2, 1", described, len(p.Location), len(p.Function), len(p.Mapping))
	}
	for i, s := range p.Sample {
		if s.Value[0] != 0 || s.Value[1] != int64(i) || len(s.Location) != 2 || len(s.Label) != 1 || len(s.Label["key"]) != 2 {
			t.Fatalf("sample %d is %+v", i, s)
		}
	}
}
