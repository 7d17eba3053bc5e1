// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

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
