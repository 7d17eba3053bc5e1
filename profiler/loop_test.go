// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

// A change that the loop makes after Shutdown has been called: which of them comes
// first is up to chance.
func TestShutdownBesideAChange(t *testing.T) {
	for name, change := range map[string]func(*Profiler) error{
		"Disable": func(p *Profiler) error { return p.Disable(context.Background(), exporter.KindHeap) },
		"Enable":  func(p *Profiler) error { return p.Enable(context.Background(), exporter.KindMutex) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				synctest.Test(t, func(t *testing.T) { testShutdownBeside(t, change) })
			}
		})
	}
}

func testShutdownBeside(t *testing.T, change func(*Profiler) error) {
	p, err := New(new(exportertest.Recorder), WithKinds(exporter.KindHeap, exporter.KindGoroutine))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	go func() { _ = p.do(t.Context(), func(*grid) { <-release }) }()
	synctest.Wait()
	changed, down := make(chan error), make(chan error)
	go func() { changed <- change(p) }()
	synctest.Wait()
	go func() { down <- p.Shutdown(t.Context()) }()
	synctest.Wait()
	close(release)
	if err := <-changed; err != nil && !errors.Is(err, ErrShutdown) {
		t.Errorf("the change: %v, want none or ErrShutdown", err)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if got := p.unclosed.Load(); got != 0 {
		t.Errorf("%d windows are not closed", got)
	}
}
