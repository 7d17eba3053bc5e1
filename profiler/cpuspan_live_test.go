// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/profiler"
)

//go:noinline
func early(d time.Duration) { burning(d) }

//go:noinline
func late(d time.Duration) { burning(d) }

// What a goroutine does after the end of the span that has started it is not the
// span's; what it has done before is, and what spanprof.Go runs.
func TestCPUOfASpanEndsWithIt(t *testing.T) {
	knownRuntime(t)
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("")
	for name, test := range map[string]struct {
		start func(ctx context.Context, f func()) // f on a goroutine of its own
		stays bool                                // f counts after the span's end
	}{
		"inherited": {func(_ context.Context, f func()) { go f() }, false},
		"Go":        {func(ctx context.Context, f func()) { spanprof.Go(ctx, func(context.Context) { f() }) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			doubling(t, func(d time.Duration) bool {
				p, rec := start(t, cpuOnly, profiler.WithWindow(endless)) // without samples of the last try
				ctx, span := tracer.Start(t.Context(), "first")
				begun, ended, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
				test.start(ctx, func() {
					defer close(done)
					early(d)
					close(begun)
					<-ended
					late(d)
				})
				<-begun
				span.End()
				close(ended)
				<-done
				shutdown(t, p)
				seen := map[string]bool{}
				for _, s := range parsed(t, last(t, rec)).Sample {
					id := span.SpanContext().SpanID().String()
					of, after := slices.Equal(s.Label[labelkey.SpanID], []string{id}), slices.Equal(s.Label[labelkey.EndedSpanID], []string{id})
					switch {
					case hasFunction(s, "early"):
						seen["early"] = true
						if !of || after {
							t.Errorf("a sample before the end of the span has %v", s.Label)
						}
					case hasFunction(s, "late"):
						seen["late"] = true
						if of != test.stays || after == test.stays {
							t.Errorf("a sample after the end of the span has %v", s.Label)
						}
					}
				}
				return seen["early"] && seen["late"]
			})
		})
	}
}
