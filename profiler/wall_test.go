// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

func TestWallIsOptIn(t *testing.T) {
	p, err := profiler.New(exporter.NewMulti())
	if err != nil {
		t.Fatal(err)
	}
	if kinds := p.Status().Kinds; slices.Contains(kinds, exporter.KindWall) {
		t.Errorf("%q are measured when nobody asked", kinds)
	}
	if s := p.Status().Wall; s != (profiler.WallStatus{}) {
		t.Errorf("the status has %+v for a kind that is off", s)
	}
}

func TestWallBudgetIsChecked(t *testing.T) {
	for _, share := range []float64{0, -0.01, 1.01, math.NaN(), math.Inf(1)} {
		if _, err := profiler.New(exporter.NewMulti(), profiler.WithWallBudget(share)); err == nil || !strings.Contains(err.Error(), "share of one core") {
			t.Errorf("a budget of %v: error %v, want one that says what to use", share, err)
		}
	}
}
