// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo_test

import (
	"errors"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/pgo"
)

func TestCover(t *testing.T) {
	one, other, moved := calling("main.a", "main.b", 100), calling("main.c", "main.d", 100), calling("main.x", "main.b", 100)
	for _, test := range []struct {
		p, workload *profile.Profile
		want        pgo.Coverage
	}{
		{one, one, pgo.Coverage{Calls: 1, Own: 1, Functions: 1}},
		{one, other, pgo.Coverage{Own: 1}},
		{one, moved, pgo.Coverage{Own: 1, Functions: 1}},
	} {
		if got, err := pgo.Cover(test.p, test.workload); err != nil || got != test.want {
			t.Errorf("got %+v, %v, want %+v", got, err, test.want)
		}
	}
	heap := &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}}
	empty := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	if _, err := pgo.Cover(one, heap); !errors.Is(err, pgo.ErrNotCPU) {
		t.Errorf("a heap profile: %v", err)
	}
	if _, err := pgo.Cover(empty, one); !errors.Is(err, pgo.ErrEmpty) {
		t.Errorf("an empty profile: %v", err)
	}
}
