// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanprof_test

import (
	"context"
	"runtime"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// Children that are never ended keep no memory and no labels after their local root.
// Their late End leaves other labels alone.
func TestForgottenChildrenPinNothing(t *testing.T) {
	all := spanprof.WithRootSpanOnly(false)
	sdk := sdktrace.NewTracerProvider()
	providers := map[string]trace.TracerProvider{
		"root scope": spanprof.NewTracerProvider(sdk),
		"all spans":  spanprof.NewTracerProvider(sdk, all),
	}
	if spanprof.ReadsGoroutineLabels() { // elsewhere a processor remembers each span until it ends
		providers["SpanProcessor"] = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor()))
		providers["SpanProcessor, all spans"] = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor(all)))
	}
	for name, tp := range providers {
		tracer := tp.Tracer("test")
		for how, requests := range map[string]int{"of one root": 1, "of 1,000 roots": 1000} {
			t.Run(name+"/"+how, func(t *testing.T) {
				handle := func(children int) trace.Span {
					ctx, server := tracer.Start(context.Background(), "server")
					defer server.End()
					_, late := tracer.Start(ctx, "late")
					for range children / 2 {
						ctx, forgotten := tracer.Start(ctx, "forgotten")
						forgotten.SetName("renamed")
						tracer.Start(ctx, "forgotten within it")
					}
					return late
				}
				handle(2) // what is made once
				before := heapAlloc()
				for range requests {
					handle(300_000 / requests)
				}
				carries(t, "after the requests", map[string]string{})
				limit := int64(100_000)
				if name[0] == 'S' {
					limit = 64 << 20 // the 60,000 spans that it has room for
				}
				grown := heapAlloc() - before
				if t.Logf("300,000 forgotten children pin %d bytes", grown); grown > limit {
					t.Errorf("want at most %d", limit)
				}
				late := handle(2)
				_, next := tracer.Start(context.Background(), "next")
				late.End()
				if spanprof.ReadsGoroutineLabels() {
					carries(t, "in the next request", spanLabels(next, "next"))
				}
				next.End()
				carries(t, "after the next request", map[string]string{})
			})
		}
	}
}

// heapAlloc returns the bytes that are in use.
func heapAlloc() int64 {
	runtime.GC()
	runtime.GC() // what the first has finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
