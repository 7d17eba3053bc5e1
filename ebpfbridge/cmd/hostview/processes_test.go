// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
)

// The agent cannot read programs with frames of the kernel only.
func TestKernelOnly(t *testing.T) {
	var p processes
	start := time.Unix(1e9, 0)
	for pid, tt := range map[string]struct {
		samples int64
		file    string
	}{"1073741824": {kernelOnly, exporter.KernelMapping}, "1073741825": {kernelOnly - 1, exporter.KernelMapping}, "1073741826": {kernelOnly, "/bin/bash"}} {
		l := &profile.Location{ID: 1, Mapping: &profile.Mapping{ID: 1, File: tt.file}}
		p.count(&profile.Profile{Sample: []*profile.Sample{
			{Location: []*profile.Location{l}, Value: []int64{tt.samples, 1}, Label: map[string][]string{receiver.LabelProcess: {pid}}},
		}}, start)
	}
	if !p.sampled(1<<30) || p.sampled(1) {
		t.Error("the processes with samples are unknown")
	}
	nothing := new(profile.Profile)
	p.count(nothing, start.Add(countedTime))
	if message, all, unreadable := p.seen(); unreadable != 1 || all != 3 || message != start.Add(countedTime) || !p.sampled(1<<30) {
		t.Errorf("got %d programs of %d with frames of the kernel only, want 1 of 3", unreadable, all)
	}
	p.count(nothing, start.Add(2*countedTime))
	if p.sampled(1 << 30) {
		t.Error("a process still has samples after 20 s without")
	}
}
