// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanprof_test

import (
	"context"
	"runtime"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// A program that never ends the spans it starts must not pay for it with more
// memory than their own.
func TestForgottenSpansPinLittle(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	defer pprof.SetGoroutineLabels(context.Background())
	before := heapAlloc()
	for range 50_000 {
		tracer.Start(context.Background(), "forgotten")
	}
	if grown := heapAlloc() - before; grown > 2<<20 {
		t.Errorf("50,000 forgotten spans pin %d bytes", grown)
	}
}

// A handler that forgets to end its child leaves nothing on the goroutine of its
// connection: neither memory nor labels.
func TestForgottenChildrenPinNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
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
		t.Run(name, func(t *testing.T) {
			tracer := tp.Tracer("test")
			handle := func() {
				ctx, server := tracer.Start(context.Background(), "server")
				defer server.End()
				ctx, forgotten := tracer.Start(ctx, "forgotten")
				forgotten.SetName("renamed")
				tracer.Start(ctx, "forgotten within it")
			}
			handle() // what is made once
			before := heapAlloc()
			for range 100_000 {
				handle()
			}
			carries(t, "after the requests", map[string]string{})
			limit := int64(1 << 20)
			if name[0] == 'S' {
				limit = 32 << 20 // up to 64 spans in each of 64 shards
			}
			if grown := heapAlloc() - before; grown > limit {
				t.Errorf("200,000 forgotten children pin %d bytes, want at most %d", grown, limit)
			}
			_, next := tracer.Start(context.Background(), "next")
			carries(t, "in the next request", spanLabels(next, "next"))
			next.End()
			carries(t, "after the next request", map[string]string{})
		})
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

func TestSpansFollowEachOther(t *testing.T) {
	// A relay: each goroutine starts a span, starts the next goroutine, and
	// ends its span. The labels of ended spans must not hold each other.
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := int64(m.HeapAlloc)
	done := make(chan int64)
	var relay func(n int)
	relay = func(n int) {
		_, span := tracer.Start(context.Background(), "leg")
		defer span.End()
		if n > 0 {
			go relay(n - 1)
			return
		}
		runtime.GC()
		runtime.ReadMemStats(&m)
		done <- int64(m.HeapAlloc)
	}
	go relay(50_000)
	if grown := <-done - before; grown > 2<<20 {
		t.Errorf("a relay of 50,000 spans pins %d bytes", grown)
	}
}
