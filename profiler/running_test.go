// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

package profiler_test

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/profiler"
)

//go:noinline
func waitFor(stop <-chan struct{}) { <-stop }

// The goroutines of an open local root and of a label from pprof.Do are listed.
func TestRunning(t *testing.T) {
	spanlabels.TimesKept.Store(true)
	find := func(id string) *profiler.Root {
		all := profiler.Running()
		if i := slices.IndexFunc(all, func(r profiler.Root) bool { return r.ID == id }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("")
		ctx, span := tracer.Start(t.Context(), "GET /orders")
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { marker.Do(ctx, "GET /orders", func(context.Context) { waitFor(stop) }) })
		}
		wg.Go(func() {
			pprof.Do(context.Background(), pprof.Labels("profile_id", "job 7"), func(context.Context) { waitFor(stop) })
		})
		synctest.Wait()

		got := find(span.SpanContext().SpanID().String())
		if got == nil || got.Name != "GET /orders" || got.TraceID != span.SpanContext().TraceID().String() || got.Start.IsZero() {
			t.Fatalf("got %+v, want the open span", got)
		}
		i := slices.IndexFunc(got.Stacks, func(s profiler.Stack) bool {
			return slices.ContainsFunc(s.Frames, func(f runtime.Frame) bool { return strings.HasSuffix(f.Function, ".waitFor") })
		})
		if i < 0 || got.Stacks[i].Goroutines != 3 || got.Stacks[i].Frames[0].Function != "runtime.chanrecv" {
			t.Errorf("got stacks %+v, want 3 goroutines that wait", got.Stacks)
		}
		if i >= 0 && slices.ContainsFunc(got.Stacks[i].Frames, func(f runtime.Frame) bool { return marker.IsFrame(f.Function) }) {
			t.Errorf("got %+v, want no frames of markers", got.Stacks[i])
		}
		if got := find("job 7"); got == nil || !got.Start.IsZero() || len(got.Stacks) != 1 {
			t.Errorf("got %+v, want the job without a start", got)
		}
		if all := profiler.Running(); all[len(all)-1].ID != "job 7" {
			t.Errorf("got %+v last, want the job without a start", all[len(all)-1])
		}
		span.End()
		if got := find(span.SpanContext().SpanID().String()); got != nil {
			t.Errorf("after End got %+v", got)
		}
		close(stop)
		wg.Wait()
	})
}
