// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// TestConcurrentEnds starts, ends and forgets spans on many goroutines at once, while others
// ask which labels held. Certain then are only two things: labels are a span's, and none are
// left.
func TestConcurrentEnds(t *testing.T) {
	if !ReadsGoroutineLabels() {
		t.Skip("the public API does not tell which labels a goroutine carries")
	}
	spanlabels.TimesKept.Store(true)
	for _, all := range []bool{false, true} {
		tracer := NewTracerProvider(sdktrace.NewTracerProvider(), WithRootSpanOnly(!all)).Tracer("test")
		sets := make(chan *goruntime.LabelSet, 1000)
		ends := make(chan trace.Span, 100)
		var workers, readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for set := range sets {
					for _, at := range []int64{goruntime.Nanotime() - 1000, math.MaxInt64} {
						held, ended := spanlabels.At(set, at)
						if id := spanIDIn(held); held != nil && len(id) != 16 || ended != "" && ended != spanIDIn(set) {
							t.Errorf("labels of %q, ended %q", id, ended)
						}
					}
				}
			})
		}
		for worker := range uint64(8) {
			workers.Go(func() {
				goruntime.SetLabels(nil)
				r := rand.New(rand.NewPCG(worker, 3))
				for request := range 300 {
					concurrentRequest(r, tracer, fmt.Sprintf("r%d", request%10), sets, ends)
				}
				_, last := tracer.Start(context.Background(), "last")
				last.End()
				if left := goruntime.GoroutineLabels(); left != nil {
					t.Errorf("all spans %t: %v are left", all, left.List)
				}
			})
		}
		workers.Wait()
		close(sets)
		readers.Wait()
		for len(ends) > 0 {
			(<-ends).End()
		}
		if left := goruntime.GoroutineLabels(); left != nil {
			t.Errorf("all spans %t: %v are left by late Ends", all, left.List)
		}
	}
}

// concurrentRequest does what a handler may do wrong: it hands spans to others to end.
func concurrentRequest(r *rand.Rand, tracer trace.Tracer, name string, sets chan<- *goruntime.LabelSet, ends chan trace.Span) {
	ctx, root := tracer.Start(context.Background(), name)
	defer root.End()
	var started sync.WaitGroup
	defer started.Wait()
	for range r.IntN(6) {
		childCtx, child := tracer.Start(ctx, "child")
		switch r.IntN(6) {
		case 0:
			child.End()
		case 1:
			select {
			case ends <- child:
			default:
			}
		case 2:
			select {
			case other := <-ends:
				other.End()
			default:
			}
		case 3:
			started.Go(func() { child.End() })
		case 4:
			started.Add(1)
			Go(childCtx, func(ctx context.Context) {
				defer started.Done()
				_, span := tracer.Start(ctx, "within Go")
				sets <- goruntime.GoroutineLabels()
				child.End()
				span.End()
			})
		default:
			child.SetName("forgotten")
		}
		sets <- goruntime.GoroutineLabels()
		if r.IntN(2) == 0 {
			ctx = childCtx
		}
	}
}

func spanIDIn(set *goruntime.LabelSet) string {
	if l := set.Find(LabelSpanID); l != nil {
		return l.Value
	}
	return ""
}
