// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
)

func TestSlowTick(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		hz   int
		tick time.Duration
		want string // empty: no error
	}{
		{100, 10 * ms, ""}, // runtime/pprof's own rate
		{97, 10 * ms, ""},
		{101, 10 * ms, "ticks 100 times a second and takes no more samples, so that 101 Hz shows up to 99 %"},
		{200, 10 * ms, "so that 200 Hz shows up to 50 % of the CPU time: use WithCPURate with less than 100"},
		{200, 4 * ms, ""},
		{200, 0, ""}, // not known
	} {
		err := slowTick(test.hz, test.tick)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d Hz with a tick of %v: %v, want %q", test.hz, test.tick, err, test.want)
		}
	}
}

// Linux says how often it ticks: 100 to 1000 times a second, or where it is
// emulated so often that no rate is too fast.
func TestTickIsKnown(t *testing.T) {
	if got := tick(); runtime.GOOS == "linux" && (got <= 0 || got > 10*time.Millisecond) {
		t.Errorf("a tick of %v", got)
	}
}

// That a system is too slow for the rate is reported, and Status says so.
func TestSlowTickIsReported(t *testing.T) {
	heard := make(chan struct{})
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if strings.Contains(err.Error(), "the system ticks 100 times a second") {
			close(heard) // once
		}
	}))
	defer otel.SetErrorHandler(before)

	p, err := New(new(exportertest.Recorder), WithKinds(exporter.KindCPU), WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	p.SetPatience(time.Minute)
	p.cpu.slow = slowTick(200, 10*time.Millisecond)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	<-heard
	if err := p.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.Status().CPU; !strings.HasPrefix(got, "profiling; samples are missing") {
		t.Errorf("the status is %q", got)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
