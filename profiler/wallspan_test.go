// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.28 && !spanprof_public

package profiler_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// A goroutine inherits the labels of the span that starts it and keeps them. For example,
// an HTTP client's connection goroutine would count for the span for hours.
func TestWallOfASpanEndsWithIt(t *testing.T) {
	for name, test := range map[string]struct {
		start func(ctx context.Context, f func()) // f on a goroutine of its own
		want  bool                                // f counts after the span's end
	}{
		"inherited": {func(_ context.Context, f func()) { go f() }, false},
		"Go":        {func(ctx context.Context, f func()) { spanprof.Go(ctx, func(context.Context) { f() }) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, rec := start(t, profiler.WithKinds(exporter.KindWall), profiler.WithWindow(endless))
				ctx, span := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("").Start(t.Context(), "first")
				stop := make(chan struct{})
				test.start(ctx, func() { outlive(stop) })
				// counted reports whether a window has samples of the goroutine for the span.
				counted := func() bool {
					time.Sleep(10 * time.Second)
					flush(t, p)
					all := rec.Profiles()
					window, err := all[len(all)-1].Parsed()
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range window.Sample {
						of := slices.Equal(s.Label["span_id"], []string{span.SpanContext().SpanID().String()})
						for _, l := range s.Location {
							if of && strings.HasSuffix(l.Line[0].Function.Name, ".outlive") {
								return true
							}
						}
					}
					return false
				}
				before := counted()
				span.End()
				flush(t, p)
				if after := counted(); !before || after != test.want {
					t.Errorf("counted %t before the end and %t after it, want true and %t", before, after, test.want)
				}
				close(stop)
			})
		})
	}
}

//go:noinline
func outlive(stop <-chan struct{}) { <-stop }
