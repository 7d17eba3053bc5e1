// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanprof_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// Children that are never ended keep no memory and no labels after their local root.
func TestForgottenChildrenPinNothing(t *testing.T) {
	all := spanprof.WithRootSpanOnly(false)
	sdk := sdktrace.NewTracerProvider()
	providers := map[string]trace.TracerProvider{
		"root scope": spanprof.NewTracerProvider(sdk),
		"all spans":  spanprof.NewTracerProvider(sdk, all),
	}
	if spanprof.ReadsGoroutineLabels() { // elsewhere a processor remembers each span until it ends
		providers["SpanProcessor"] = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor(all)))
	}
	for name, tp := range providers {
		tracer := tp.Tracer("test")
		for how, requests := range map[string]int{"of one root": 1, "of 1,000 roots": 1000} {
			t.Run(name+"/"+how, func(t *testing.T) {
				handle := func(children int) {
					ctx, server := tracer.Start(context.Background(), "server")
					defer server.End()
					for range children / 2 {
						ctx, forgotten := tracer.Start(ctx, "forgotten")
						forgotten.SetName("renamed")
						tracer.Start(ctx, "forgotten within it")
					}
				}
				handle(2) // what is made once
				before := heapAlloc()
				for range requests {
					handle(300_000 / requests)
				}
				carries(t, "after the requests", map[string]string{})
				limit := int64(100_000)
				if strings.HasPrefix(name, "SpanProcessor") {
					limit = 64 << 20 // the 60,000 spans that it has room for
				}
				if grown := heapAlloc() - before; grown > limit {
					t.Errorf("300,000 forgotten children pin %d bytes, want at most %d", grown, limit)
				}
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
