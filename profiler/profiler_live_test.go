// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

func TestFlushesShareARotation(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	const callers = 50
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			before := time.Now()
			if err := p.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			if end := last(t, rec).End(); end.Before(before) {
				t.Errorf("Flush at %v returned with windows until %v", before, end)
			}
		})
	}
	wg.Wait()
	if got := len(rec.Profiles()); got > callers {
		t.Errorf("%d calls of Flush made %d windows", callers, got)
	}
}

// An exporter that ignores its context and a context without time: Shutdown
// returns, and the CPU profile is stopped.
func TestShutdownWithoutTime(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p, err := profiler.New(hanging(release))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Flush: %v, want Canceled", err)
	}
	if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v, want Canceled", err)
	}
	free(t)
}

func TestExportErrorsAreCounted(t *testing.T) {
	p, err := profiler.New(failing{}, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	const want = "profiler_test.failing: 1 failed: refused"
	if err := p.Flush(t.Context()); !errors.Is(err, errRefused) || err.Error() != want {
		t.Errorf("Flush: %v, want %s", err, want)
	}
	if err := p.Shutdown(t.Context()); !errors.Is(err, errRefused) || err.Error() != "profiler: "+want {
		t.Errorf("Shutdown: %v, want %s", err, want)
	}
	if got := p.Status(); got.Lanes[0].Lost["failed"] != 2 || got.Lanes[0].Exported != 0 {
		t.Errorf("Status() = %+v, want two export errors", got)
	}
	if errs := reported.take(errRefused.Error()); len(errs) != 2 { // the second is reported at the end
		t.Errorf("reported %v, want two of %v", errs, errRefused)
	}
}
