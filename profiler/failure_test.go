// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// inBubble are the kinds with goroutines inside the bubble of synctest. The runtime's CPU
// profiler has one outside.
var inBubble = []exporter.Kind{exporter.KindHeap, exporter.KindGoroutine, exporter.KindMutex, exporter.KindBlock, exporter.KindWall}

// After Shutdown every call returns at once: the second Shutdown nil, Flush and Profile an
// error.
func TestCallsAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := start(t, profiler.WithKinds(inBubble...))
		shutdown(t, p)
		begin := time.Now()
		shutdown(t, p)
		if err := p.Flush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
			t.Errorf("Flush: %v", err)
		}
		if err := p.Profile(t.Context(), new(bytes.Buffer), exporter.KindWall, time.Second); !errors.Is(err, profiler.ErrNotMeasured) {
			t.Errorf("Profile: %v", err)
		}
		if got := p.Status(); got.Running || time.Since(begin) != 0 {
			t.Errorf("Status() = %+v after %v", got, time.Since(begin))
		}
	})
}

// All calls at once: none panics or hangs, and all errors are documented.
func TestCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			rec := new(exportertest.Recorder)
			p, err := profiler.New(rec, profiler.WithKinds(inBubble...), profiler.WithWindow(100*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 4 {
				for _, call := range []func() error{
					func() error { return p.Flush(t.Context()) },
					func() error {
						return p.Profile(t.Context(), new(bytes.Buffer), exporter.KindWall, 300*time.Millisecond)
					},
					func() error { p.Status(); return nil },
					func() error { <-time.After(250 * time.Millisecond); return p.Shutdown(t.Context()) },
				} {
					wg.Go(func() {
						err := call()
						known := []error{nil, exporter.ErrShutdown, profiler.ErrNotMeasured}
						if !slices.ContainsFunc(known, func(want error) bool { return errors.Is(err, want) }) {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
			if got := p.Status(); got.Running || got.Lanes[0].Waiting != 0 {
				t.Errorf("Status() = %+v, want that it is shut down", got)
			}
		}
	})
}
