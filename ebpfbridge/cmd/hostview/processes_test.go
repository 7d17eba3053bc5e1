// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

// The agent cannot read programs with frames of the kernel only.
func TestKernelOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processes{Exporter: new(exportertest.Recorder)}
		export := func(samples ...*profile.Sample) {
			t.Helper()
			of := &profile.Profile{Sample: samples}
			if err := p.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindHost}, of)); err != nil {
				t.Fatal(err)
			}
		}
		for pid, tt := range map[string]struct {
			samples int64
			file    string
		}{"1073741824": {kernelOnly, exporter.KernelMapping}, "1073741825": {kernelOnly - 1, exporter.KernelMapping}, "1073741826": {kernelOnly, "/bin/bash"}} {
			l := &profile.Location{ID: 1, Mapping: &profile.Mapping{ID: 1, File: tt.file}}
			export(&profile.Sample{Location: []*profile.Location{l}, Value: []int64{tt.samples, 1}, Label: map[string][]string{receiver.LabelProcess: {pid}}})
		}
		if !p.sampled(1<<30) || p.sampled(1) {
			t.Error("the processes with samples are unknown")
		}
		time.Sleep(countedTime)
		export()
		if message, all, unreadable := p.seen(); unreadable != 1 || all != 3 || !message.Equal(time.Now()) || !p.sampled(1<<30) {
			t.Errorf("got %d programs of %d with frames of the kernel only, want 1 of 3", unreadable, all)
		}
		time.Sleep(countedTime)
		export()
		if p.sampled(1 << 30) {
			t.Error("a process still has samples after 20 s without")
		}
	})
}

// An agent that sends every 15 s is not silent. After its end there are no processes.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processes{last: map[int]*sampled{1: {}}, since: time.Now(), message: time.Now()}
		page := pageStatus{processes: &p, host: func() receiver.HostStatus {
			return receiver.HostStatus{Status: receiver.Status{Messages: 1}}
		}}
		for _, want := range []struct {
			silent    bool
			processes uint64
		}{{false, 1}, {false, 1}, {true, 0}} {
			if s := page.status(); strings.Contains(s.Message, "has sent no samples") != want.silent || s.Counters[0].Value != want.processes {
				t.Errorf("%v after a message: %q, %d processes, want %+v", time.Since(p.message), s.Message, s.Counters[0].Value, want)
			}
			time.Sleep(16 * time.Second)
		}
	})
}
