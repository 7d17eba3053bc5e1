// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
)

// ignore is a processor that does nothing. With none at all the SDK takes no snapshots.
type ignore struct{ sdktrace.SpanProcessor }

func (ignore) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (ignore) OnEnd(sdktrace.ReadOnlySpan) {}

// BenchmarkRoots starts and ends local roots of the SDK on some goroutines, with a processor
// that does nothing and with that of a store.
func BenchmarkRoots(b *testing.B) {
	s, err := store.New()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	attributes := trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.String("http.route", "/cart"), attribute.Int("server.port", 8080))
	for _, spans := range []struct {
		name    string
		options []trace.SpanStartOption
	}{{"bare", nil}, {"attributes", []trace.SpanStartOption{attributes}}} {
		for _, goroutines := range []int{1, 2, 8} {
			for _, p := range []struct {
				name string
				sdktrace.SpanProcessor
			}{{"nothing", ignore{}}, {"store", s.SpanProcessor()}} {
				tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p.SpanProcessor)).Tracer("bench")
				b.Run(fmt.Sprintf("spans=%s/goroutines=%d/processor=%s", spans.name, goroutines, p.name), func(b *testing.B) {
					b.ReportAllocs()
					var work sync.WaitGroup
					for range goroutines {
						work.Go(func() {
							for range b.N / goroutines {
								_, span := tracer.Start(context.Background(), "GET /cart", spans.options...)
								span.End()
							}
						})
					}
					work.Wait()
				})
			}
		}
	}
}
