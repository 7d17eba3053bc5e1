// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

// Whoever has stopped our profile again and again is left alone, also when the kind
// is disabled and enabled meanwhile.
func TestEnableKeepsTheBackoff(t *testing.T) {
	p, err := New(new(exportertest.Recorder), WithKinds(exporter.KindCPU), WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	do := func(f func(c *cpu)) {
		t.Helper()
		if err := p.do(t.Context(), func(*grid) { f(p.cpu) }); err != nil {
			t.Fatal(err)
		}
	}
	resume := time.Now().Add(time.Hour)
	do(func(c *cpu) { c.takeover.backoff, c.resume = lastBackoff, resume })
	if err := p.Disable(t.Context(), exporter.KindCPU); err != nil {
		t.Fatal(err)
	}
	if err := p.Enable(t.Context(), exporter.KindCPU); err != nil {
		t.Fatal(err)
	}
	do(func(c *cpu) {
		if c.takeover.backoff != lastBackoff || !c.resume.Equal(resume) || c.retry.Before(resume) || c.open != nil {
			t.Errorf("a backoff of %v until %v, an attempt at %v, and the run %v; want %v until %v, an attempt after that, and no run",
				c.takeover.backoff, c.resume, c.retry, c.open, lastBackoff, resume)
		}
		// Now it is over.
		c.resume = time.Now()
		c.retry = c.resume
	})
	for d := time.Millisecond; p.Status().CPU != "profiling"; d *= 2 {
		if d > 10*time.Second {
			t.Fatalf("Status() = %+v, want that it profiles again", p.Status())
		}
		<-time.After(d)
	}
}
