// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// Spans start, end and are forgotten on many goroutines at once, and other goroutines end them.
// Meanwhile labels are a span's, and none are left.
func TestConcurrentEnds(t *testing.T) {
	if !ReadsGoroutineLabels() {
		t.Skip("the public API does not tell which labels a goroutine carries")
	}
	spanlabels.TimesKept.Store(true)
	for _, all := range []bool{false, true} {
		tracer := NewTracerProvider(sdktrace.NewTracerProvider(), WithRootSpanOnly(!all)).Tracer("test")
		var forAnother atomic.Pointer[trace.Span]
		var carried atomic.Pointer[goruntime.LabelSet] // by some goroutine
		step := func(r *rand.Rand, ctx context.Context) {
			ctx, child := tracer.Start(ctx, "child")
			set := carried.Swap(goruntime.GoroutineLabels())
			for _, at := range []int64{goruntime.Nanotime() - 1000, math.MaxInt64} {
				held, ended := spanlabels.At(set, at)
				if id := spanIDIn(held); held != nil && len(id) != 16 || ended != "" && ended != spanIDIn(set) {
					t.Errorf("labels of %q, ended %q", id, ended)
				}
			}
			switch r.IntN(4) {
			case 0:
				child.End()
			case 1: // another goroutine ends it
				if other := forAnother.Swap(&child); other != nil {
					(*other).End()
				}
			case 2:
				done := make(chan struct{})
				Go(ctx, func(ctx context.Context) {
					defer close(done)
					_, span := tracer.Start(ctx, "within Go")
					child.End()
					span.End()
				})
				<-done
			default:
				child.SetName("forgotten")
			}
		}
		var workers sync.WaitGroup
		for worker := range uint64(8) {
			workers.Go(func() {
				goruntime.SetLabels(nil)
				r := rand.New(rand.NewPCG(worker, 3))
				for range 300 {
					ctx, root := tracer.Start(context.Background(), "root")
					for range r.IntN(6) {
						step(r, ctx)
					}
					root.End()
				}
				if left := goruntime.GoroutineLabels(); left != nil {
					t.Errorf("all spans %t: %v are left", all, left.List)
				}
			})
		}
		workers.Wait()
	}
}

func spanIDIn(set *goruntime.LabelSet) string {
	if l := set.Find(LabelSpanID); l != nil {
		return l.Value
	}
	return ""
}
