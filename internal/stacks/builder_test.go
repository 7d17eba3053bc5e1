// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package stacks_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/stacks"
)

func TestBuilder(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	described := 0
	var b *stacks.Builder
	b = stacks.New(p, func(pcs []uintptr) int { return min(2, len(pcs)) }, func(pcs []uintptr) *profile.Location {
		if described++; len(pcs) == 1 {
			return nil
		}
		return &profile.Location{Line: b.Lines([]goruntime.Frame{{Function: "leaf", Line: int64(pcs[0])}, {Function: "root", Line: 7}})}
	})
	labels := map[string][]string{"key": {"a"}}
	for i := range 3000 {
		s := b.Add([]uintptr{1, 2, 3, 4, 5}, b.Labels([]goruntime.Label{{Key: "key", Value: "a"}, {Key: "empty"}}))
		s.Value[1] = int64(i)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if described != 3 || len(p.Location) != 2 || len(p.Function) != 2 {
		t.Errorf("%d descriptions, %d locations, %d functions; want 3, 2, 2", described, len(p.Location), len(p.Function))
	}
	for i, s := range p.Sample {
		if s.Value[0] != 0 || s.Value[1] != int64(i) || len(s.Location) != 2 || !maps.EqualFunc(s.Label, labels, slices.Equal) {
			t.Fatalf("sample %d is %+v", i, s)
		}
	}
}
