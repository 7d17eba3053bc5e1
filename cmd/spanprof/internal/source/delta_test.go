// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"errors"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
)

// A restart is found again when the same profile is compared again.
func TestDeltaTwice(t *testing.T) {
	counted := func(n int64) *profile.Profile {
		l := &profile.Location{ID: 1}
		return &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "contentions", Unit: "count"}},
			PeriodType: &profile.ValueType{},
			Location:   []*profile.Location{l},
			Sample:     []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{n}}},
		}
	}
	begin := counted(1000)
	for range 2 {
		if _, err := source.Delta(begin, counted(10)); !errors.Is(err, source.ErrRestarted) {
			t.Errorf("got %v, want ErrRestarted", err)
		}
	}
	if d, err := source.Delta(begin, counted(1010)); err != nil || d.Sample[0].Value[0] != 10 {
		t.Errorf("got %v, %v, want a difference of 10", d, err)
	}
}
