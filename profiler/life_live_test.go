// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
	"github.com/spanprof/spanprof/profiler"
)

// Wherever an error comes from, its handler may wait for the profiler.
func TestErrorHandlerMayUseTheProfiler(t *testing.T) {
	for _, test := range []struct {
		name string
		exp  exporter.Exporter
		kind exporter.Kind
	}{
		{"the exporter's", failing{}, exporter.KindHeap},
		{"a member's", nil, exporter.KindHeap},
		{"the profiler's", new(exportertest.Recorder), exporter.KindCPU},
	} {
		t.Run(test.name, func(t *testing.T) {
			theirs := startForeign(t) // an error, and nothing in the bubble starts one
			defer theirs.stop(t)
			reporttest.Settle() // reports of other tests would enter the bubble
			synctest.Test(t, func(t *testing.T) {
				exp := test.exp
				if exp == nil {
					exp = exporter.NewMulti(failing{}) // its goroutines are the bubble's
				}
				p, err := profiler.New(exp, profiler.WithKinds(test.kind), profiler.WithWindow(time.Second))
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 10)
				otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {
					err := p.Flush(context.Background())
					if errors.Is(err, profiler.ErrShutdown) || errors.Is(err, errRefused) {
						err = nil
					}
					if end := p.Shutdown(context.Background()); !errors.Is(end, errRefused) {
						err = errors.Join(err, end)
					}
					done <- err
				}))
				defer otel.SetErrorHandler(&reported)
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if got := p.Status(); got.Running || got.Lanes[0].Waiting != 0 {
					t.Errorf("Status() = %+v, want that it is shut down", got)
				}
			})
		})
	}
}

func TestDisabled(t *testing.T) {
	t.Setenv("SPANPROF_DISABLED", "true")
	p, rec := start(t)
	flush(t, p)
	startForeign(t).stop(t) // nobody uses the CPU profiler
	want := profiler.Status{
		Disabled: true,
		Kinds:    []exporter.Kind{exporter.KindCPU, exporter.KindHeap},
		Window:   10 * time.Second,
		CPU:      "disabled by the environment",
		Lanes:    recorded(0),
	}
	if diff := cmp.Diff(want, p.Status()); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
	shutdown(t, p)
	if err := rec.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
		t.Error("the exporter was not shut down")
	}
	if got := len(rec.Profiles()); got != 0 {
		t.Errorf("%d profiles, want 0", got)
	}
}

// failing is an exporter that takes nothing.
type failing struct{}

func (failing) Export(context.Context, *exporter.Profile) error { return errRefused }

func (failing) ForceFlush(context.Context) error { return nil }

func (failing) Shutdown(context.Context) error { return nil }

// The profile that a disabled Profiler writes for the program is its own.
func TestProfileWhenDisabled(t *testing.T) {
	t.Setenv("SPANPROF_DISABLED", "true")
	p, _ := start(t)
	if err := p.Enable(t.Context(), exporter.KindGoroutine); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := p.Profile(t.Context(), &b, exporter.KindCPU, time.Millisecond); err != nil {
		t.Error(err)
	}
	if _, err := profile.Parse(&b); err != nil {
		t.Error(err)
	}
}
