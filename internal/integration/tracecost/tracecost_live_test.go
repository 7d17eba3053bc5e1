// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package main

import (
	rtrace "runtime/trace"
	"strings"
	"testing"
	"time"
)

// TestRuns has the command measure for a moment. What it finds depends on the machine, and
// is not asserted.
func TestRuns(t *testing.T) {
	if rtrace.IsEnabled() {
		t.Skip("an execution trace is on already") // go test -trace
	}
	c, err := measureCost(2, 50*time.Millisecond, 1, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if report := c.report(); len(c.ratios) != 2 || c.with <= 0 || c.without <= 0 || !strings.Contains(report, "2 pairs") {
		t.Errorf("%d ratios: %s", len(c.ratios), report)
	}
	if c.counts["slow spans"] == 0 {
		t.Errorf("no slow span ended beside a recorder: %v", c.counts)
	}
	f, err := measureFlood(50*time.Millisecond, 50*time.Millisecond, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if f.perSecond <= 0 || !strings.Contains(f.report(), "channel operations") {
		t.Error(f.report())
	}
	if err := run("nothing", 1, time.Millisecond, 1, 0.01); err == nil {
		t.Error("no error for what is not known")
	}
}

func TestInterval(t *testing.T) {
	if mean, half := interval([]float64{1, 2, 3}); mean != 2 || half < 1.13 || half > 1.14 {
		t.Errorf("%v ± %v, want 2 ± 1.13", mean, half)
	}
	if mean, half := interval([]float64{1}); mean != 1 || half != 0 {
		t.Errorf("of one: %v ± %v", mean, half)
	}
}
