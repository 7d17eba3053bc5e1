// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"fmt"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

// Losses of the CPU are counted when the kind is not measured any more.
func TestMetricsOfCPU(t *testing.T) {
	provider := newMeterProvider()
	p, err := New(new(exportertest.Recorder), WithKinds(exporter.KindCPU), WithWindow(time.Hour), WithMeterProvider(provider))
	if err != nil {
		t.Fatal(err)
	}
	p.SetPatience(time.Minute)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.cpu.mu.Lock()
	p.cpu.stops++
	open := p.cpu.open
	p.cpu.mu.Unlock()
	if open == nil {
		t.Fatal("no CPU profile is open: ", p.Status().CPU)
	}
	open.count(fmt.Errorf("cut: %w", &cpulog.DroppedError{Samples: 3}))
	if got := p.Status(); got.CPUForeignStops != 1 || got.CPUSamplesDropped != 3 {
		t.Errorf("Status() = %+v, want 1 foreign stop and 3 samples dropped", got)
	}
	if err := p.Disable(t.Context(), exporter.KindCPU); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := provider.values()
	if got["cpu.foreign_stops"] != 1 || got["cpu.sample.dropped"] != 3 {
		t.Errorf("%v, want 1 foreign stop and 3 samples dropped", got)
	}
}
