// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/profiler"
)

// A goroutine inherits the labels of the span that starts it and keeps them. For example,
// an HTTP client's connection goroutine would count for the span for hours.
func TestWallOfASpanEndsWithIt(t *testing.T) {
	if !goruntime.ListsGoroutines() {
		t.Skip("the public API does not tell which goroutines have outlived their span")
	}
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("")
	for name, test := range map[string]struct {
		start func(ctx context.Context, f func()) // f on a goroutine of its own
		want  bool                                // f counts after the span's end
	}{
		"inherited": {func(_ context.Context, f func()) { go f() }, false},
		"Go":        {func(ctx context.Context, f func()) { spanprof.Go(ctx, func(context.Context) { f() }) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, rec := start(t, profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(0.5), profiler.WithWindow(endless))
			stop := make(chan struct{})
			var wait sync.WaitGroup
			defer wait.Wait()
			defer close(stop)
			wait.Add(1)
			ctx, span := tracer.Start(t.Context(), "first")
			first := idOf(span)
			// counted waits for d under the span with the given id. It reports whether the
			// window has samples of it, and of the goroutine that outlives the first span.
			counted := func(d time.Duration, id string) (waiter, heir bool) {
				waiting(d)
				flush(t, p)
				for _, s := range parsed(t, last(t, rec)).Sample {
					waiter = waiter || hasFunction(s, "waiting") && slices.Equal(s.Label["span_id"], []string{id})
					heir = heir || hasFunction(s, "outlive") && slices.Equal(s.Label["span_id"], []string{first})
				}
				return waiter, heir
			}
			test.start(ctx, func() { defer wait.Done(); outlive(stop) })
			doubling(t, func(d time.Duration) bool {
				waiter, heir := counted(d, first)
				return waiter && heir
			})
			span.End()
			flush(t, p)
			doubling(t, func(d time.Duration) bool {
				_, span := tracer.Start(t.Context(), "second")
				defer span.End()
				waiter, heir := counted(d, idOf(span))
				if heir && !test.want {
					t.Fatal("the goroutine is counted for a span that has ended")
				}
				return waiter && heir == test.want
			})
		})
	}
}

func idOf(span trace.Span) string { return span.SpanContext().SpanID().String() }

//go:noinline
func outlive(stop <-chan struct{}) { <-stop }

//go:noinline
func waiting(d time.Duration) { <-time.After(d) }
