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

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// A goroutine inherits the labels of the span that starts it and keeps them. For example,
// an HTTP client's connection goroutine would count for the span for hours.
func TestWallOfASpanEndsWithIt(t *testing.T) {
	for _, byGo := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, rec := start(t, profiler.WithKinds(exporter.KindWall), profiler.WithWindow(endless))
			ctx, span := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("").Start(t.Context(), "first")
			stop := make(chan struct{})
			if byGo {
				spanprof.Go(ctx, func(context.Context) { outlive(stop) })
			} else {
				go outlive(stop)
			}
			// counted reports whether a window has samples of the goroutine for the span.
			counted := func() bool {
				time.Sleep(10 * time.Second)
				flush(t, p)
				all := rec.Profiles()
				window, err := all[len(all)-1].Parsed()
				if err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(window.Sample, func(s *profile.Sample) bool {
					return slices.Equal(s.Label["span_id"], []string{span.SpanContext().SpanID().String()}) &&
						slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
							return strings.HasSuffix(l.Line[0].Function.Name, ".outlive")
						})
				})
			}
			before := counted()
			span.End()
			flush(t, p)
			if after := counted(); !before || after != byGo {
				t.Errorf("by Go %t: counted %t before the end and %t after it", byGo, before, after)
			}
			close(stop)
		})
	}
}

//go:noinline
func outlive(stop <-chan struct{}) { <-stop }
