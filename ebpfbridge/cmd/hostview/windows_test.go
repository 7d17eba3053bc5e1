// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
)

// Windows are bounded in bytes, not in samples alone: names may have any length.
func TestWindowsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 50<<20)
	closed := new(exportertest.Recorder)
	w := newWindows(closed, time.Hour, 10)
	for range 3 {
		f := &profile.Function{ID: 1, Name: long}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
			Sample:   []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1, 1}, Label: map[string][]string{receiver.LabelProcess: {"1"}}}},
			Location: []*profile.Location{l}, Function: []*profile.Function{f},
		}
		if n := len(closed.Profiles()); n > 0 {
			t.Fatalf("%d profiles before 128 MiB are there", n)
		}
		if err := w.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now(), Resource: resource.Empty()}, p)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(closed.Profiles()); n != 1 {
		t.Errorf("%d profiles after 150 MiB, want the window closed", n)
	}
}
