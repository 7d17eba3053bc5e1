// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

// Windows are bounded in bytes, not in samples alone: names and attributes may have any
// length.
func TestWindowsAreBounded(t *testing.T) {
	long := strings.Repeat("x", maxOpen/5*2)
	bounded(t, long, "")
	bounded(t, "f", long[:len(long)/8])
}

func bounded(t *testing.T, name, value string) {
	t.Helper()
	closed := new(exportertest.Recorder)
	w := newWindows(closed)
	for i := range 3 {
		f := &profile.Function{ID: 1, Name: name}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
			Sample:   []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1, 1}, Label: map[string][]string{receiver.LabelProcess: {"1"}}}},
			Location: []*profile.Location{l}, Function: []*profile.Function{f},
		}
		if n := len(closed.Profiles()); n > 0 {
			t.Fatalf("%d profiles before maxOpen", n)
		}
		of := resource.NewSchemaless(attribute.String("service.name", strconv.Itoa(i)), attribute.String("a", value))
		if err := w.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now(), Resource: of}, p)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(closed.Profiles()); n == 0 {
		t.Error("no profiles beyond maxOpen, want the windows closed")
	}
}

// The agent cannot read programs with frames of the kernel only.
func TestKernelOnly(t *testing.T) {
	w := newWindows(new(exportertest.Recorder))
	for pid, tt := range map[string]struct {
		samples int64
		user    bool
	}{"1073741824": {kernelOnly, false}, "1073741825": {kernelOnly - 1, false}, "1073741826": {kernelOnly, true}} {
		file := exporter.KernelMapping
		if tt.user {
			file = "/bin/bash"
		}
		m := &profile.Mapping{ID: 1, File: file}
		l := &profile.Location{ID: 1, Mapping: m}
		p := &profile.Profile{
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, Mapping: []*profile.Mapping{m}, Location: []*profile.Location{l},
			Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{tt.samples, 1}, Label: map[string][]string{receiver.LabelProcess: {pid}}}},
		}
		if err := w.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindHost, Start: time.Now(), Resource: resource.Empty()}, p)); err != nil {
			t.Fatal(err)
		}
	}
	sampled := func() bool { return w.sampled(1<<30) && !w.sampled(1) }
	if !sampled() {
		t.Error("the open windows do not have their process")
	}
	if err := w.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last, _ := w.seen(); last.kernelOnly != 1 || last.processes != 3 || !sampled() {
		t.Errorf("got %+v, want 1 program with frames of the kernel only", last)
	}
	if err := w.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.sampled(1 << 30) {
		t.Error("a process has samples that two windows do not have")
	}
}
