// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package main

import (
	"strings"
	"testing"
	"time"
)

// TestRuns measures for a moment. The results depend on the machine.
func TestRuns(t *testing.T) {
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.cost(2, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.ratios) != 2 || c.with <= 0 || c.without <= 0 || strings.HasPrefix(c.counts, "0 slow spans") {
		t.Errorf("got %+v", c)
	}
	a, err := s.budget(time.Second, 100, 10)
	if err != nil {
		t.Fatal(err)
	}
	if a.slow != 1 && a.slow != 0 || a.recorded == 0 {
		t.Errorf("got %+v", a)
	}
	if err := run("nothing", 0, 1, 0, 1); err == nil {
		t.Error("an unknown -run was accepted")
	}
}

func TestInterval(t *testing.T) {
	if mean, half := interval([]float64{1, 2, 3}); mean != 2 || half < 1.13 || half > 1.14 {
		t.Errorf("got %v ± %v, want 2 ± 1.13", mean, half)
	}
	if mean, half := interval([]float64{1}); mean != 1 || half != 0 {
		t.Errorf("of one: got %v ± %v", mean, half)
	}
}
