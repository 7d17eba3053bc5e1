// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"bytes"
	"context"
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

// running returns a Profiler of all kinds except CPU. Its windows end at each full second.
func running(t *testing.T, exp exporter.Exporter) *profiler.Profiler {
	t.Helper()
	p, err := profiler.New(exp, profiler.WithKinds(inBubble...), profiler.WithWindow(time.Second), profiler.WithFirstEnd())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// After Shutdown every call returns at once: the second Shutdown nil, Flush and Profile an
// error.
func TestCallsAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := new(exportertest.Recorder)
		p := running(t, rec)
		shutdown(t, p)
		windows := len(rec.Profiles())
		for _, test := range []struct {
			name string
			call func(context.Context) error
			want error
		}{
			{"Shutdown", func(ctx context.Context) error { return p.Shutdown(context.WithoutCancel(ctx)) }, nil},
			{"Flush", p.Flush, exporter.ErrShutdown},
			{"Profile", func(ctx context.Context) error {
				return p.Profile(ctx, new(bytes.Buffer), exporter.KindWall, time.Second)
			}, profiler.ErrNotMeasured},
		} {
			for _, ctx := range []context.Context{t.Context(), ended()} {
				begin := time.Now()
				if err := test.call(ctx); !errors.Is(err, test.want) {
					t.Errorf("%s after Shutdown: %v, want %v", test.name, err, test.want)
				}
				if took := time.Since(begin); took != 0 {
					t.Errorf("%s after Shutdown took %v", test.name, took)
				}
			}
		}
		if got := p.Status(); got.Running || len(rec.Profiles()) != windows {
			t.Errorf("Status() = %+v, and %d windows, want %d", got, len(rec.Profiles()), windows)
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

// ended returns a context that is over.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
