// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// BenchmarkChildren starts and ends children, and calls Do. The goroutines have a common root,
// or a root each. The difference, less the SDK's own difference, is the cost of sharing a
// root's labels. An operation is a batch on each goroutine. undisturbed is the share of
// batches that no other program disturbed. call-ns is the first quartile of the time of a
// call in these batches.
func BenchmarkChildren(b *testing.B) {
	sdk := sdktrace.NewTracerProvider()
	ours := spanprof.NewTracerProvider(sdk)
	child := func(ctx context.Context, tracer trace.Tracer) {
		_, span := tracer.Start(ctx, "child")
		span.End()
	}
	do := func(ctx context.Context, _ trace.Tracer) { spanprof.Do(ctx, func(context.Context) {}) }
	for _, of := range []struct {
		name string
		tp   trace.TracerProvider
		call func(context.Context, trace.Tracer)
	}{{"sdk", sdk, child}, {"spanprof", ours, child}, {"Do", ours, do}} {
		for _, goroutines := range []int{1, 2} {
			for _, own := range []bool{false, true} {
				if goroutines == 1 && own {
					continue // the same
				}
				b.Run(fmt.Sprintf("of=%s/goroutines=%d/own=%v", of.name, goroutines, own), func(b *testing.B) {
					times := callTimes(b.N, of.tp.Tracer("bench"), of.call, goroutines, own)
					b.ReportMetric(float64(len(times))/float64(b.N), "undisturbed")
					if len(times) > 0 {
						slices.Sort(times)
						b.ReportMetric(times[len(times)/4], "call-ns")
					}
				})
			}
		}
	}
}

// callTimes returns the time of a call in each batch; all goroutines begin a batch together.
// It skips batches in which a goroutine had no processor for a while.
func callTimes(batches int, tracer trace.Tracer, call func(context.Context, trace.Tracer), goroutines int, own bool) (times []float64) {
	const calls = 100
	ctx, root := tracer.Start(context.Background(), "root")
	defer root.End()
	var (
		ready  atomic.Int64
		starts = make([]time.Time, batches)
		work   sync.WaitGroup
		each   = make([][]time.Duration, goroutines) // 0 where disturbed
	)
	for g := range goroutines {
		each[g] = make([]time.Duration, batches)
		work.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ctx := ctx
			if own {
				var root trace.Span
				ctx, root = tracer.Start(context.Background(), "root")
				defer root.End()
			}
			for i := range batches {
				// One more marks the start time as set. To sleep until then, and to wake,
				// takes as long as a batch.
				all := int64((i + 1) * (goroutines + 1))
				if ready.Add(1) == all-1 {
					starts[i] = time.Now()
					ready.Add(1)
				}
				for spins := 0; ready.Load() < all; spins++ {
					if spins > 100_000 {
						time.Sleep(10 * time.Microsecond) // The other one has no processor.
					}
				}
				cpu := threadCPU()
				for range calls {
					call(ctx, tracer)
				}
				cpu = threadCPU() - cpu
				if spent := time.Since(starts[i]); spent-cpu < spent/10+time.Microsecond {
					each[g][i] = spent
				}
			}
		})
	}
	work.Wait()
	for i := range batches {
		var longest time.Duration
		for g := range each {
			if each[g][i] == 0 {
				longest = 0
				break
			}
			longest = max(longest, each[g][i])
		}
		if longest > 0 {
			times = append(times, float64(longest)/calls)
		}
	}
	return times
}
